{{- define "sshload.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "sshload.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "sshload.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sshload.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sshload.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sshload.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sshload.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sshload.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "sshload.labels" -}}
{{ include "sshload.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* The image of .part (operator, worker or target) in .root. */ -}}
{{- define "sshload.image" -}}
{{- $image := .root.Values.image -}}
{{- $registry := ternary "" (printf "%s/" $image.registry) (empty $image.registry) -}}
{{- $repository := (get .root.Values .part).image.repository -}}
{{- $tag := ternary $image.tag (int64 $image.tag | toString) (kindIs "string" $image.tag) -}}
{{- printf "%s%s:%s" $registry $repository (default .root.Chart.AppVersion $tag) -}}
{{- end -}}

{{- /* The watched namespaces of a namespaced install, as a JSON list. */ -}}
{{- define "sshload.namespaces" -}}
{{- default (list .Release.Namespace) .Values.watchNamespaces | uniq | toJson -}}
{{- end -}}
