{{/* What is special to the API: where it listens, under which names, and who reaches it. */}}

{{- define "headway.apiName" -}}
{{ include "headway.fullname" . }}-api
{{- end -}}

{{/* The names under which clients may reach the API: those of its Service, of the Ingress and the route, and further ones. */}}
{{- define "headway.apiHosts" -}}
{{- $name := include "headway.apiName" . -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list "localhost" "127.0.0.1" $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) -}}
{{- with .Values.api }}
{{- if .ingress.enabled }}{{ $hosts = append $hosts .ingress.host }}{{ end -}}
{{- if .gateway.enabled }}{{ $hosts = concat $hosts .gateway.hostnames }}{{ end -}}
{{- $hosts = concat $hosts .hosts | uniq -}}
{{- end -}}
{{ join "," $hosts }}
{{- end -}}

{{- define "headway.apiEnv" -}}
{{- $readonly := dict "root" . "role" "readonly" -}}
- name: HEADWAY_API_HOST
  value: 0.0.0.0
- name: HEADWAY_API_PORT
  value: {{ .Values.api.port | quote }}
- name: HEADWAY_API_ALLOWED_HOSTS
  value: {{ include "headway.apiHosts" . }}
{{- if or .Values.postgres.enabled .Values.database.secrets.readonly.name }}
- name: HEADWAY_DATABASE_READONLY_URL
  value: {{ include "headway.databaseUrl" $readonly }}
- name: HEADWAY_DATABASE_READONLY_PASSWORD
  valueFrom:
    secretKeyRef:
      {{- include "headway.passwordKey" $readonly | nindent 6 }}
{{- end }}
{{- if .Values.encryptionKeys.name }}
- name: HEADWAY_SECRETS_KEYS_FILE
  value: /etc/headway/keys/secret-keys
{{- end }}
{{- end -}}

{{- define "headway.apiMounts" -}}
{{- if .Values.encryptionKeys.name }}
- name: keys
  mountPath: /etc/headway/keys
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.apiVolumes" -}}
{{- with .Values.encryptionKeys }}
{{- if .name }}
- name: keys
  secret:
    secretName: {{ .name }}
    defaultMode: 0440
    items: [{key: {{ .key }}, path: secret-keys}]
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.apiPorts" -}}
- name: api
  containerPort: {{ .Values.api.port }}
{{- end -}}

{{/* Who may ask the API: what `api.from` names, and nobody else. */}}
{{/* Workers serve logs to the API at their HTTP port. */}}
{{- define "headway.apiEgress" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "headway.selector" (dict "root" . "component" "worker") | nindent 10 }}
  ports:
    - port: http
{{- end -}}

{{- define "headway.fromApi" -}}
{{- if .Values.api.enabled -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "headway.selector" (dict "root" . "component" "api") | nindent 10 }}
  ports:
    - port: http
{{ end -}}
{{- end -}}

{{- define "headway.apiIngress" -}}
{{- with .Values.api.from }}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: api
{{- end }}
{{- end -}}
