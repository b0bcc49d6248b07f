{{- /* What the operator is told of its installation. */ -}}
{{- define "sshload.installation" -}}
{{- range $name, $ranges := .Values.deniedRanges }}
{{- range $ranges }}{{ include "sshload.checkRange" (dict "range" . "path" (printf "deniedRanges.%s" $name)) }}{{ end }}
{{- end }}
{{- range .Values.dns.addresses }}{{ include "sshload.checkRange" (dict "range" . "path" "dns.addresses") }}{{ end }}
{{- range .Values.externalTargets }}{{ include "sshload.checkRange" (dict "range" .host "path" "externalTargets") }}{{ end -}}
workerImage: {{ include "sshload.image" (dict "root" . "part" "worker") }}
targetImage: {{ include "sshload.image" (dict "root" . "part" "target") }}
systemImage: {{ include "sshload.image" (dict "root" . "part" "system") }}
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
  tolerations: {{ include "sshload.tolerations" .Values.runPods.tolerations }}
  affinity: {{ default dict .Values.runPods.affinity | toJson }}
  priorityClassName: {{ default "" .Values.runPods.priorityClassName | toJson }}
  masterResources: {{ include "sshload.resources" (dict "of" .Values.master.resources "path" "master.resources") | fromYaml | toJson }}
  targetResources: {{ include "sshload.resources" (dict "of" .Values.target.resources "path" "target.resources") | fromYaml | toJson }}
  proxyResources: {{ include "sshload.resources" (dict "of" .Values.proxy.resources "path" "proxy.resources") | fromYaml | toJson }}
  gatewayResources: {{ include "sshload.resources" (dict "of" .Values.gateway.runResources "path" "gateway.runResources") | fromYaml | toJson }}
  networkPolicies: {{ .Values.runNetworkPolicy.enabled }}
  extraEgress: {{ toJson .Values.runNetworkPolicy.extraEgress }}
  metricsFrom: {{ default list .Values.runNetworkPolicy.metricsFrom | toJson }}
paused: {{ .Values.paused }}
{{- with include "sshload.channels" . | fromYaml }}
channels:
  {{- range $name, $channel := . }}
  {{ $name }}: {{ omit $channel "secret" "maxAgeHours" "port" "to" | merge (dict "maxAge" (printf "%vh" ($channel.maxAgeHours | int64))) | toJson }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Refuse a range of IPv4, of the value .path, that begins in its middle: it would be unclear what it covers. */ -}}
{{- define "sshload.checkRange" -}}
{{- if regexMatch "^[0-9.]+/[0-9]+$" .range -}}
{{- $parts := splitList "/" .range -}}
{{- $first := 0 -}}
{{- range splitList "." (first $parts) -}}{{- $first = add (mul $first 256) (int64 .) -}}{{- end -}}
{{- $size := 1 -}}
{{- range until (sub 32 (last $parts | int) | int) -}}{{- $size = mul $size 2 -}}{{- end -}}
{{- if mod $first $size -}}
{{- fail (printf "%s has the range %s, which has host bits set: write the first address of the range" .path .range) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The channels of `notifications` that are on: those with a Secret, and with a URL where the URL is a value. */ -}}
{{- define "sshload.channels" -}}
{{- range $name, $channel := .Values.notifications }}
{{- if and $channel.secret (or $channel.url (not (hasKey $channel "url"))) }}
{{- if and (hasKey $channel "pagesUrl") (not $channel.pagesUrl) $.Values.ui.enabled $.Values.ui.ingress.enabled }}
{{- $channel = merge (dict "pagesUrl" (printf "https://%s" $.Values.ui.ingress.host)) $channel }}
{{- end }}
{{ $name }}: {{ toJson $channel }}
{{- end }}
{{- end }}
{{- end -}}
