{{- define "sshload.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "sshload.fullname" -}}
{{- $name := include "sshload.anyFullname" . -}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $name) -}}
{{- fail (printf "the full name %q cannot be that of a Service, which begins with a letter and has no dots: set fullnameOverride" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "sshload.anyFullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "sshload.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sshload.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /*
The name of an object of .root's release in .namespace, or "" for one of the cluster: outside of its own namespace there may be
those of a release of the same name in another one.
*/ -}}
{{- define "sshload.nameIn" -}}
{{- $name := include "sshload.fullname" .root -}}
{{- ternary $name (printf "%s-%s" .root.Release.Namespace $name) (eq .namespace .root.Release.Namespace) -}}
{{- end -}}

{{- define "sshload.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sshload.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sshload.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sshload.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "sshload.gatewaySelectorLabels" -}}
app.kubernetes.io/name: {{ include "sshload.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "sshload.labels" -}}
{{- include "sshload.labelsWith" (dict "root" . "more" dict) -}}
{{- end -}}

{{- define "sshload.gatewayLabels" -}}
{{- include "sshload.gatewayLabelsWith" (dict "root" . "more" dict) -}}
{{- end -}}

{{- define "sshload.gatewayLabelsWith" -}}
{{- $component := include "sshload.gatewaySelectorLabels" .root | fromYaml -}}
{{- toYaml (merge $component (include "sshload.labelsWith" . | fromYaml)) -}}
{{- end -}}

{{- /*
The labels of an object in .root: those that it is selected by, then .more, then those of all objects. The first of a name
counts, and stands alone: Flux refuses a name that stands twice.
*/ -}}
{{- define "sshload.labelsWith" -}}
{{- $selected := include "sshload.selectorLabels" .root | fromYaml -}}
{{- $release := dict
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- toYaml (merge $selected $release .more .root.Values.commonLabels) -}}
{{- end -}}

{{- /*
What keeps service meshes from injecting a proxy: it would get no further than the NetworkPolicy of the release, and the
pod of helm test would never end.
*/ -}}
{{- define "sshload.notInjectedLabels" -}}
sidecar.istio.io/inject: "false"
istio.io/dataplane-mode: none
kuma.io/sidecar-injection: disabled
{{- end -}}

{{- define "sshload.notInjectedAnnotations" -}}
sidecar.istio.io/inject: "false"
linkerd.io/inject: disabled
consul.hashicorp.com/connect-inject: "false"
{{- end -}}

{{- /*
The image of .part (operator, worker, target, gateway or proxy) in .root: its own registry, tag and digest, else those of all images. A
digest stands for one image, so only a part has one; with it the tag is only a name for people.
*/ -}}
{{- define "sshload.image" -}}
{{- $all := .root.Values.image -}}
{{- $image := (get .root.Values .part).image -}}
{{- $registry := required "image.registry is needed: the registry, with its path, that has sshload's images" (include "sshload.registry" (dict "global" (default dict .root.Values.global) "own" (default $all.registry $image.registry))) -}}
{{- $tag := default .root.Chart.AppVersion (include "sshload.tag" (default $all.tag $image.tag)) -}}
{{- printf "%s/%s:%s" $registry $image.repository $tag -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- /* A registry with its path, .own. .global.imageRegistry takes the place of its host, as of that of the images of other charts. */ -}}
{{- define "sshload.registry" -}}
{{- $path := regexReplaceAll "^[^/]*/?" .own "" -}}
{{- $host := default (regexFind "^[^/]*" .own) .global.imageRegistry -}}
{{- ternary $host (printf "%s/%s" $host $path) (empty $path) -}}
{{- end -}}

{{- /* A tag as text: --set turns one of digits into a number. */ -}}
{{- define "sshload.tag" -}}
{{- ternary . (int64 . | toString) (kindIs "string" .) -}}
{{- end -}}

{{- /* The watched namespaces of a namespaced install, as a JSON list. */ -}}
{{- define "sshload.namespaces" -}}
{{- default (list .Release.Namespace) .Values.watchNamespaces | uniq | toJson -}}
{{- end -}}

{{- define "sshload.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sshload.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- end -}}

{{- /* The names of the Secrets for pulling images, those of `global` last, as a JSON list. */ -}}
{{- define "sshload.pullSecretNames" -}}
{{- $names := list -}}
{{- range concat .Values.image.pullSecrets (default list (default dict .Values.global).imagePullSecrets) -}}
{{- if kindIs "map" . -}}
{{- $names = append $names .name -}}
{{- else -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{- define "sshload.pullSecrets" -}}
{{- with include "sshload.pullSecretNames" . | fromJsonArray -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
The resources .of a container as YAML, which are the value .path. Kubernetes would refuse requests above limits, and only
when it makes the pod.
*/ -}}
{{- define "sshload.resources" -}}
{{- $resources := dict -}}
{{- range $list, $amounts := default dict .of -}}
{{- $given := dict -}}
{{- range $kind, $amount := default dict $amounts -}}
{{- if not (kindIs "invalid" $amount) -}}
{{- $isFraction := and (kindIs "float64" $amount) (ne (float64 $amount) (float64 (int64 $amount))) -}}
{{- $_ := set $given $kind (ternary (toString $amount) $amount $isFraction) -}}
{{- end -}}
{{- end -}}
{{- if not (kindIs "invalid" $amounts) -}}{{- $_ := set $resources $list $given -}}{{- end -}}
{{- end -}}
{{- $limits := default dict $resources.limits -}}
{{- range $kind, $request := $resources.requests -}}
{{- $limit := get $limits $kind -}}
{{- if and (ne (toString $limit) "") (gt (include "sshload.amount" $request | float64) (include "sshload.amount" $limit | float64)) -}}
{{- fail (printf "%s.requests.%s is %v, but must not be above the limit %v" $.path $kind $request $limit) -}}
{{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- /* An amount of a resource as a number. */ -}}
{{- define "sshload.amount" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $text := kindIs "string" . | ternary . (int64 . | toString) -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (default 1.0 (get $units (regexFind "[a-zA-Z]+$" $text))) -}}
{{- end -}}

{{- /* Tolerations without empty values, which mean the same as none. */ -}}
{{- define "sshload.tolerations" -}}
{{- $tolerations := list -}}
{{- range . -}}
{{- $stated := dict -}}
{{- range $name, $value := . -}}
{{- if ne (toString $value) "" -}}{{- $_ := set $stated $name $value -}}{{- end -}}
{{- end -}}
{{- $tolerations = append $tolerations $stated -}}
{{- end -}}
{{- toJson $tolerations -}}
{{- end -}}
