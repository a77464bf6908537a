{{/* The operator's rights. docs/guides/kubernetes.md gives the reason for each. */}}

{{- define "gateway.operatorSubject" -}}
- {kind: ServiceAccount, name: {{ include "gateway.serviceAccountName" (list . "operator") | quote }}, namespace: {{ .Release.Namespace }}}
{{- end }}

{{- /* The operator never writes specs. Secrets contain keys and providers' credentials. */}}
{{- define "gateway.rulesOfServedNamespaces" -}}
- apiGroups: [modelgateway.dev]
  resources: [{{ include "gateway.kinds" . }}]
  verbs: [list, watch]
{{- if .Values.sidecar.enabled }}
- apiGroups: [modelgateway.dev]
  resources: [apikeys]
  verbs: [get]
{{- end }}
- apiGroups: [modelgateway.dev]
  resources: [{{ include "gateway.kindStatuses" . }}]
  verbs: [patch]
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch, get, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
