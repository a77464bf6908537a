{{/* Names, labels, images. A namespace holds one gateway, so names need not hold the release's. */}}

{{- define "gateway.name" -}}
{{- .Values.fullnameOverride | default "model-gateway" | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* The name of a component's objects: (list $ "operator"). The proxies are what people know as the gateway. */}}
{{- define "gateway.component" -}}
{{- $name := include "gateway.name" (index . 0) -}}
{{- if eq (index . 1) "dataplane" }}{{ $name }}{{ else }}{{ printf "%s-%s" $name (index . 1) }}{{ end -}}
{{- end }}

{{/* Of cluster-wide objects: several gateways of a cluster must not meet there. */}}
{{- define "gateway.clusterName" -}}
{{- printf "%s.%s" (index . 1) (index . 0).Release.Namespace -}}
{{- end }}

{{/* By which a component's pods are found; never changes. */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "gateway.labels" -}}
{{- $root := index . 0 -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of pods. The chart's version is not among them: a new chart restarts only pods whose own settings it changes. */}}
{{- define "gateway.podLabels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/part-of: model-gateway
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* metadata: of an object: (dict "root" $ "component" … "name" … "labels" … "annotations" … "clusterWide" …). */}}
{{- define "gateway.metadata" -}}
name: {{ .name | default (include "gateway.component" (list .root .component)) }}
{{- if not .clusterWide }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  {{- mergeOverwrite (include "gateway.labels" (list .root .component) | fromYaml) (.labels | default dict) | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list image default-tag) */}}
{{- define "gateway.image" -}}
{{- $image := index . 0 -}}
{{- $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 1) }}{{ end -}}
{{- end }}

{{- define "gateway.operatorAddress" -}}
{{ include "gateway.component" (list . "operator") }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The component that everybody outside calls; its Service has the gateway's name in either case. */}}
{{- define "gateway.front" -}}
{{ .Values.edge.enabled | ternary "edge" "dataplane" }}
{{- end }}
