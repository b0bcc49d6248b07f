{{- /* What the operator is told of its installation. */ -}}
{{- define "sshload.installation" -}}
workerImage: {{ include "sshload.image" (dict "root" . "part" "worker") }}
targetImage: {{ include "sshload.image" (dict "root" . "part" "target") }}
proxyImage: {{ include "sshload.image" (dict "root" . "part" "proxy") }}
gatewayImage: {{ include "sshload.image" (dict "root" . "part" "gateway") }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
imagePullSecrets: {{ include "sshload.pullSecretNames" . }}
workerResources: {{ toJson .Values.worker.resources }}
externalTargets: {{ toJson .Values.externalTargets }}
deniedRanges: {{ toJson .Values.deniedRanges }}
permitted: {{ toJson .Values.permitted }}
dns: {{ toJson .Values.dns }}
limits: {{ toJson .Values.limits }}
runPods:
  userId: {{ toJson .Values.runAsUser }}
  labels: {{ toJson .Values.runPods.labels }}
  annotations: {{ toJson .Values.runPods.annotations }}
  nodeSelector: {{ toJson .Values.runPods.nodeSelector }}
  tolerations: {{ toJson .Values.runPods.tolerations }}
  affinity: {{ toJson .Values.runPods.affinity }}
  priorityClassName: {{ toJson .Values.runPods.priorityClassName }}
  masterResources: {{ toJson .Values.master.resources }}
  targetResources: {{ toJson .Values.target.resources }}
  proxyResources: {{ toJson .Values.proxy.resources }}
  gatewayResources: {{ toJson .Values.gateway.runResources }}
  networkPolicies: {{ .Values.runNetworkPolicy.enabled }}
  extraEgress: {{ toJson .Values.runNetworkPolicy.extraEgress }}
  metricsFrom: {{ toJson .Values.runNetworkPolicy.metricsFrom }}
paused: {{ .Values.paused }}
{{- with .Values.notifications.webhook }}
{{- if .url }}
webhook:
  url: {{ toJson .url }}
  events: {{ toJson .events }}
  namespaces: {{ toJson .namespaces }}
  maxAge: {{ .maxAgeHours | int64 }}h
{{- end }}
{{- end }}
{{- end -}}
