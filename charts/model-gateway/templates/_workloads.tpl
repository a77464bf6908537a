{{/* Parts that all workloads share. A workload's settings are .Values.workload, overridden by its own values. */}}

{{/* A workload's settings as YAML: (list $ "operator"). */}}
{{- define "gateway.workload" -}}
{{- mergeOverwrite (deepCopy (index . 0).Values.workload) (deepCopy (index (index . 0).Values (index . 1))) | toYaml -}}
{{- end }}

{{- define "gateway.serviceAccountName" -}}
{{- $workload := include "gateway.workload" . | fromYaml -}}
{{- if $workload.serviceAccount.name }}{{ $workload.serviceAccount.name }}
{{- else if $workload.serviceAccount.create }}{{ include "gateway.component" . }}
{{- else }}default{{ end -}}
{{- end }}

{{/* The pod template's metadata: (dict "root" "component" "workload" "annotations"). */}}
{{- define "gateway.podMetadata" -}}
labels:
  {{- mergeOverwrite (include "gateway.podLabels" (list .root .component) | fromYaml) .workload.podLabels | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) .workload.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The fields of a pod's spec except containers and volumes: (dict "root" "component" "workload" "token"). */}}
{{- define "gateway.podSpec" -}}
serviceAccountName: {{ include "gateway.serviceAccountName" (list .root .component) }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .workload.podSecurityContext | nindent 2 }}
{{- if hasKey .workload "terminationGracePeriodSeconds" }}
terminationGracePeriodSeconds: {{ .workload.terminationGracePeriodSeconds }}
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "dnsConfig" "hostAliases" }}
{{- with index $.workload $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- range $field := list "priorityClassName" "runtimeClassName" "schedulerName" "dnsPolicy" }}
{{- with index $.workload $field }}
{{ $field }}: {{ . }}
{{- end }}
{{- end }}
{{- with .workload.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The spread of a workload with several pods: (dict "root" "component" "workload"). */}}
{{- define "gateway.spread" -}}
topologySpreadConstraints:
{{- if .workload.topologySpreadConstraints }}
  {{- toYaml .workload.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "gateway.selector" (list $.root $.component) | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The fields of the main container: (dict "workload" "env" "args" "volumeMounts" "probes"). The user's settings come
last and win. */}}
{{- define "gateway.container" -}}
{{- with concat (.args | default list) .workload.extraArgs }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat (.env | default list) .workload.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $name, $probe := .probes | default dict }}
{{ $name }}:
  {{- mergeOverwrite $probe (index $.workload $name) | toYaml | nindent 2 }}
{{- end }}
{{- with .workload.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .workload.securityContext | nindent 2 }}
{{- with concat (.volumeMounts | default list) .workload.extraVolumeMounts }}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The token with which a pod authenticates to the operator; no other server accepts its audience. */}}
{{- define "gateway.xdsToken" -}}
- name: xds-token
  projected:
    sources:
    - serviceAccountToken: {audience: {{ . }}, expirationSeconds: 3600, path: token}
{{- end }}
