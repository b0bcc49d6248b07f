{{- /* What the operator is told of its installation. */ -}}
{{- define "sshload.installation" -}}
workerImage: {{ include "sshload.image" (dict "root" . "part" "worker") }}
targetImage: {{ include "sshload.image" (dict "root" . "part" "target") }}
proxyImage: {{ include "sshload.image" (dict "root" . "part" "proxy") }}
gatewayImage: {{ include "sshload.image" (dict "root" . "part" "gateway") }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
imagePullSecrets: {{ include "sshload.pullSecretNames" . }}
workerResources: {{ include "sshload.resources" (dict "of" .Values.worker.resources "path" "worker.resources") | fromYaml | toJson }}
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
  masterResources: {{ include "sshload.resources" (dict "of" .Values.master.resources "path" "master.resources") | fromYaml | toJson }}
  targetResources: {{ include "sshload.resources" (dict "of" .Values.target.resources "path" "target.resources") | fromYaml | toJson }}
  proxyResources: {{ include "sshload.resources" (dict "of" .Values.proxy.resources "path" "proxy.resources") | fromYaml | toJson }}
  gatewayResources: {{ include "sshload.resources" (dict "of" .Values.gateway.runResources "path" "gateway.runResources") | fromYaml | toJson }}
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
