{{/* What scales a worker group, if anything does. Takes root and values. */}}
{{- define "headway.autoscaling" -}}
{{- $scaling := .values.autoscaling -}}
{{- $name := printf "%s-worker-%s" (include "headway.fullname" .root) .values.name -}}
{{- $it := dict "root" .root "component" "worker" "group" .values.name "name" $name -}}
{{- if eq $scaling.kind "keda" }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
spec:
  scaleTargetRef:
    name: {{ $name }}
  minReplicaCount: {{ $scaling.minReplicas }}
  maxReplicaCount: {{ $scaling.maxReplicas }}
  pollingInterval: {{ int64 $scaling.keda.pollingInterval }}
  cooldownPeriod: {{ int64 $scaling.keda.cooldownPeriod }}
  triggers:
    - type: postgresql
      metricType: AverageValue
      authenticationRef:
        name: {{ $name }}
      metadata:
        host: {{ include "headway.databaseHost" .root }}{{ if .root.Values.postgres.enabled }}.{{ .root.Release.Namespace }}.svc{{ end }}
        port: {{ .root.Values.database.port | quote }}
        dbName: {{ .root.Values.database.name | quote }}
        userName: headway_readonly
        sslmode: {{ .root.Values.postgres.enabled | ternary "disable" $scaling.keda.sslmode }}
        targetQueryValue: {{ default .values.slots $scaling.keda.target | quote }}
        query: {{ include "headway.queueDepth" . | quote }}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
spec:
  secretTargetRef:
    - parameter: password
      {{- include "headway.passwordKey" (dict "root" .root "role" "readonly") | nindent 6 }}
{{- else if eq $scaling.kind "hpa" }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "headway.metadata" $it | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $name }}
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  metrics:
    {{- /* An embedded Spark works in the worker's container; the busier one of the two counts. */}}
    {{- range eq .values.spark.kind "embedded" | ternary (list "forker" "worker") (list "forker") }}
    - type: ContainerResource
      containerResource:
        name: cpu
        container: {{ . }}
        target:
          type: Utilization
          averageUtilization: {{ $scaling.hpa.targetCPUUtilizationPercentage }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* The query of files/queue-depth.sql for the queues of a group, in one line. */}}
{{- define "headway.queueDepth" -}}
{{- $queues := list -}}
{{- range .values.queues }}{{ $queues = append $queues (squote .) }}{{ end -}}
{{- $sql := regexReplaceAll "--[^\n]*" (.root.Files.Get "files/queue-depth.sql") "" -}}
{{ regexReplaceAll "\\s+" (replace ":queues" (join ", " $queues) $sql) " " | trim }}
{{- end -}}
