{{- /* What the operator does in a namespace with tests. It makes Secrets and deletes them, and never reads one. */ -}}
{{- define "sshload.rules" -}}
- apiGroups: [sshload.dev]
  resources: [sshloadtests]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [sshload.dev]
  resources: [sshloadtestschedules, sshloadtestcomparisons]
  verbs: [get, list, watch]
{{- if include "sshload.channels" . | fromYaml }}
# The annotations that say which end was delivered.
- apiGroups: [sshload.dev]
  resources: [sshloadtestcomparisons]
  verbs: [patch]
{{- end }}
- apiGroups: [sshload.dev]
  resources: [sshloadtests/status, sshloadtestschedules/status, sshloadtestcomparisons/status]
  verbs: [patch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, create, delete]
- apiGroups: [""]
  resources: [services, configmaps]
  verbs: [create, patch, delete]
{{- if .Values.ui.enabled }}
{{- /* The pages show what the ConfigMap of a test's results keeps. */}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
{{- end }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
{{- end -}}

{{- /*
The operator's Lease, where it is. A write with PUT names what it creates, so that even create can be for one name only.
*/ -}}
{{- define "sshload.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [sshload-operator]
  verbs: [get, create, update, delete]
{{- end -}}
