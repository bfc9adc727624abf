{{/* Names, labels, images, numbers. */}}

{{- define "headway.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $joined := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $joined .Values.fullnameOverride | trunc 36 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels that select pods. They never change, as selectors cannot. Takes root, component and group. */}}
{{- define "headway.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .group }}
headway/group: {{ . }}
{{- end }}
{{- end -}}

{{- define "headway.labels" -}}
{{ include "headway.selector" . }}
app.kubernetes.io/part-of: headway
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end -}}

{{/* Metadata of an object. Takes name besides what labels take. */}}
{{- define "headway.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "headway.labels" . | nindent 2 }}
{{- end -}}

{{/* The reference of an image. Takes image (a block of values) and root, whose appVersion is the default tag. */}}
{{- define "headway.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}
{{- end -}}

{{/* A number as it was written: Helm reads all numbers as fractions, and would write large ones as 1e+06. */}}
{{- define "headway.number" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) -}}
{{ int64 . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end -}}
