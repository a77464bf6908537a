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

{{/* The global and the chart's own image pull secrets, each once; global ones may be names only, as other charts take them. */}}
{{- define "gateway.imagePullSecrets" -}}
{{- $secrets := list }}
{{- range concat (.Values.global.imagePullSecrets | default list) .Values.imagePullSecrets }}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) }}
{{- end }}
{{- with uniq $secrets }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The fields of a pod's spec except containers and volumes: (dict "root" "component" "workload" "token"). */}}
{{- define "gateway.podSpec" -}}
serviceAccountName: {{ include "gateway.serviceAccountName" (list .root .component) }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with include "gateway.imagePullSecrets" .root }}
imagePullSecrets:
  {{- . | nindent 2 }}
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

{{/* The fields of a container that only values decide: the argument is its workload's settings. */}}
{{- define "gateway.container" -}}
{{- with .envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .securityContext | nindent 2 }}
{{- end }}

{{/* A container's probes: (list workload probes), the latter as YAML. The user's settings are merged into each. */}}
{{- define "gateway.probes" -}}
{{- $workload := index . 0 }}
{{- $probes := index . 1 | fromYaml }}
{{- range $name := list "readinessProbe" "livenessProbe" "startupProbe" }}
{{- with index $probes $name }}
{{ $name }}:
  {{- mergeOverwrite . (index $workload $name) | toYaml | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The probes of operator and proxies, on their admin ports. */}}
{{- define "gateway.adminProbes" -}}
readinessProbe: {httpGet: {path: /readyz, port: admin}, periodSeconds: 2}
livenessProbe: {httpGet: {path: /healthz, port: admin}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 5}
startupProbe: {httpGet: {path: /healthz, port: admin}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 60}
{{- end }}

{{/* The token with which a pod authenticates to the operator; no other server accepts its audience. */}}
{{- define "gateway.xdsToken" -}}
- name: xds-token
  projected:
    sources:
    - serviceAccountToken: {audience: {{ . }}, expirationSeconds: 3600, path: token}
{{- end }}

{{/* A component's PodDisruptionBudget, if it has one: (list $ "operator"). */}}
{{- define "gateway.podDisruptionBudget" -}}
{{- $workload := include "gateway.workload" . | fromYaml }}
{{- if $workload.podDisruptionBudget.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "gateway.metadata" (dict "root" (index . 0) "component" (index . 1)) | nindent 2 }}
spec:
  maxUnavailable: {{ $workload.podDisruptionBudget.maxUnavailable }}
  {{- /* An unready pod must not prevent a node from being drained. */}}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "gateway.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* A component's ServiceAccount, if the chart creates it: (list $ "operator"). */}}
{{- define "gateway.serviceAccount" -}}
{{- $workload := include "gateway.workload" . | fromYaml }}
{{- if $workload.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "gateway.metadata" (dict "root" (index . 0) "component" (index . 1) "name" (include "gateway.serviceAccountName" .) "annotations" $workload.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* The ServiceMonitor of a component with an admin port: (list $ "operator"). */}}
{{- define "gateway.serviceMonitor" -}}
{{- $root := index . 0 }}
{{- $monitor := $root.Values.monitoring.serviceMonitor }}
{{- if $monitor.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "gateway.metadata" (dict "root" $root "component" (index . 1) "labels" $monitor.labels) | nindent 2 }}
spec:
  jobLabel: app.kubernetes.io/component
  namespaceSelector: {matchNames: [{{ $root.Release.Namespace }}]}
  selector:
    matchLabels:
      {{- include "gateway.selector" . | nindent 6 }}
  endpoints:
  - port: admin
    path: /metrics
    interval: {{ $monitor.interval }}
    scrapeTimeout: {{ $monitor.scrapeTimeout }}
    {{- with $monitor.relabelings }}
    relabelings:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $monitor.metricRelabelings }}
    metricRelabelings:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- end }}
