{{/*
All objects of a service. A service is one block of values and one call:

  {{ include "headway.service" (dict "root" $ "service" "api" "values" .Values.api) }}

Takes what headway.pod takes, without name; and, optional, egress and ingress: rules of its NetworkPolicy as text.
*/}}
{{- define "headway.service" -}}
{{- $name := printf "%s-%s" (include "headway.fullname" .root) .service -}}
{{- with .group }}{{ $name = printf "%s-%s" $name . }}{{ end -}}
{{- $it := merge (dict "name" $name "component" .service) . -}}
{{- $scaling := dig "autoscaling" "kind" "none" .values -}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
spec:
  {{- if eq $scaling "none" }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    {{- /* A scheduler that is to be alone would wait for ever for the next one, which refuses to run beside it. */}}
    {{- if eq (dig "settings" "use_row_level_locking" true .values | toString) "false" }}
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
    {{- end }}
  selector:
    matchLabels:
      {{- include "headway.selector" $it | nindent 6 }}
  template:
    {{- include "headway.pod" $it | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "headway.selector" $it | nindent 6 }}
{{- if not .values.serviceAccount.name }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
  {{- with .values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
{{ include "headway.servicePolicy" $it }}
{{- end }}
{{- if .root.Values.metrics.podMonitor.enabled }}
---
{{ include "headway.podMonitor" $it }}
{{- end }}
{{- end -}}

{{- define "headway.podMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  {{- include "headway.metadata" . | nindent 2 }}
    {{- with .root.Values.metrics.podMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "headway.selector" . | nindent 6 }}
  podMetricsEndpoints:
    - port: http
      path: /metrics
      interval: {{ .root.Values.metrics.podMonitor.interval }}
{{- end -}}
