{{/* NetworkPolicies: all is denied that no rule allows. A policy holds for a whole pod, the fork server included. */}}

{{/* Takes what headway.service has made. */}}
{{- define "headway.servicePolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "headway.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "headway.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- if .root.Values.metrics.from }}
    - from:
        {{- toYaml .root.Values.metrics.from | nindent 8 }}
      ports:
        - port: http
    {{- end }}
    {{- with .ingress }}
    {{- . | nindent 4 }}
    {{- end }}
  egress:
    {{- include "headway.databaseEgress" .root | nindent 4 }}
    {{- with .egress }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .values.egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "headway.dnsEgress" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns.to | nindent 4 }}
  ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/* What a service needs to log in: names, PgBouncer where there is one, and Postgres, by which it listens. */}}
{{- define "headway.databaseEgress" -}}
{{ include "headway.dnsEgress" . }}
{{- if .Values.pgbouncer.enabled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "headway.selector" (dict "root" . "component" "pgbouncer") | nindent 10 }}
  ports:
    - port: 5432
{{- end }}
{{- if or (not .Values.pgbouncer.enabled) .Values.database.notify }}
{{ include "headway.postgresEgress" . }}
{{- end }}
{{- end -}}

{{- define "headway.postgresEgress" -}}
{{- if .Values.postgres.enabled -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "headway.selector" (dict "root" . "component" "postgres") | nindent 10 }}
  ports:
    - port: 5432
{{- else -}}
{{ include "headway.egressTo" (dict "to" .Values.networkPolicy.database.to "ports" (list .Values.database.port)) }}
{{- end -}}
{{- end -}}

{{/* A rule that allows these ports, or all, at these peers, or anywhere. Takes to and ports. */}}
{{- define "headway.egressTo" -}}
- to:
    {{- toYaml .to | nindent 4 }}
  {{- with .ports }}
  ports:
    {{- range . }}
    - port: {{ . }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/* A rule that lets in whatever of the release logs in. */}}
{{- define "headway.fromClients" -}}
- from:
    - podSelector:
        matchLabels:
          app.kubernetes.io/instance: {{ .Release.Name }}
          headway/database: "true"
  ports:
    - port: 5432
{{- end -}}
