{{/* How containers reach Postgres: libpq reads the password, and what TLS must be, from PG variables. */}}

{{- define "headway.postgresName" -}}
{{ include "headway.fullname" . }}-postgres
{{- end -}}

{{- define "headway.pgbouncerName" -}}
{{ include "headway.fullname" . }}-pgbouncer
{{- end -}}

{{/* The Secret, and the key in it, that hold the password of a role. Takes root and role. */}}
{{- define "headway.passwordKey" -}}
{{- if .root.Values.postgres.enabled -}}
name: {{ default (include "headway.postgresName" .root) .root.Values.postgres.existingSecret }}
key: {{ .role }}
{{- else -}}
{{- $secret := get .root.Values.database.secrets .role -}}
name: {{ $secret.name }}
key: {{ $secret.key }}
{{- end -}}
{{- end -}}

{{- define "headway.databaseHost" -}}
{{- if .Values.postgres.enabled -}}
{{ include "headway.postgresName" . }}
{{- else -}}
{{ .Values.database.host }}
{{- end -}}
{{- end -}}

{{/* The address that a role logs in by, without its password. Takes root, role, and direct where no PgBouncer may be in between. */}}
{{- define "headway.databaseUrl" -}}
{{- $values := .root.Values -}}
{{- $login := eq .role "owner" | ternary $values.database.owner (printf "headway_%s" .role) -}}
{{- if and $values.pgbouncer.enabled (not .direct) -}}
postgresql://{{ $login }}@{{ include "headway.pgbouncerName" .root }}:5432/{{ $login }}
{{- else -}}
postgresql://{{ $login }}@{{ include "headway.databaseHost" .root }}:{{ $values.database.port }}/{{ $values.database.name }}
{{- end -}}
{{- end -}}

{{/* Variables of a process that logs in by itself. Takes what headway.databaseUrl takes. */}}
{{- define "headway.databaseEnv" -}}
{{- $values := .root.Values -}}
{{- $pooled := and $values.pgbouncer.enabled (not .direct) -}}
- name: HEADWAY_DATABASE_URL
  value: {{ include "headway.databaseUrl" . }}
{{- if $pooled }}
- name: HEADWAY_DATABASE_POOLER
  value: "true"
{{- end }}
{{- if not $values.database.notify }}
- name: HEADWAY_DATABASE_NOTIFY
  value: "false"
{{- end }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      {{- include "headway.passwordKey" . | nindent 6 }}
{{- $mode := $values.postgres.enabled | ternary "disable" $values.database.tls.mode }}
{{- if $pooled }}
{{- $mode = $values.pgbouncer.tls.enabled | ternary "verify-full" "disable" }}
{{- end }}
- name: PGSSLMODE
  value: {{ $mode }}
{{- if hasPrefix "verify" $mode }}
- name: PGSSLROOTCERT
  value: /etc/headway/database-ca/ca.crt
{{- end }}
{{- end -}}

{{/* Variables by which commands of people log in where a service runs, if the chart knows the password of their role. */}}
{{- define "headway.userEnv" -}}
{{- $user := dict "root" . "role" "user" -}}
{{- if or .Values.postgres.enabled .Values.database.secrets.user.name -}}
- name: HEADWAY_DATABASE_USER_URL
  value: {{ include "headway.databaseUrl" $user }}
- name: HEADWAY_DATABASE_USER_PASSWORD
  valueFrom:
    secretKeyRef:
      {{- include "headway.passwordKey" $user | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* Behind PgBouncer: where a service listens to notices. Its TLS is not that of PgBouncer. Takes root and role. */}}
{{- define "headway.listenEnv" -}}
{{- $values := .root.Values -}}
{{- if and $values.pgbouncer.enabled $values.database.notify }}
{{- $query := printf "sslmode=%s" ($values.postgres.enabled | ternary "disable" $values.database.tls.mode) }}
{{- if include "headway.databaseCa" (dict "root" .root "direct" true) }}
{{- $query = printf "%s&sslrootcert=/etc/headway/server-ca/ca.crt" $query }}
{{- end }}
- name: HEADWAY_DATABASE_LISTEN_URL
  value: postgresql://headway_{{ .role }}@{{ include "headway.databaseHost" .root }}:{{ $values.database.port }}/{{ $values.database.name }}?{{ $query }}
{{- end }}
{{- end -}}

{{/* The authority of the server itself, where a service listens to it past PgBouncer. Takes root. */}}
{{- define "headway.listenCa" -}}
{{- if and .root.Values.pgbouncer.enabled .root.Values.database.notify -}}
{{ include "headway.databaseCa" (dict "root" .root "direct" true) }}
{{- end -}}
{{- end -}}

{{/* The Secret, and the key in it, of the authority that certificates are verified by; nothing where none are. */}}
{{- define "headway.databaseCa" -}}
{{- $values := .root.Values -}}
{{- if and $values.pgbouncer.enabled (not .direct) -}}
{{- if $values.pgbouncer.tls.enabled }}
secretName: {{ $values.pgbouncer.tls.secretName }}
items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- else if and (hasPrefix "verify" $values.database.tls.mode) (not $values.postgres.enabled) }}
secretName: {{ $values.database.tls.caSecret.name }}
items: [{key: {{ $values.database.tls.caSecret.key }}, path: ca.crt}]
{{- end -}}
{{- end -}}

{{- define "headway.databaseMounts" -}}
{{- if include "headway.databaseCa" . }}
- name: database-ca
  mountPath: /etc/headway/database-ca
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.databaseVolumes" -}}
{{- with include "headway.databaseCa" . | trim }}
- name: database-ca
  secret:
    {{- . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "headway.listenMounts" -}}
{{- if include "headway.listenCa" . }}
- name: server-ca
  mountPath: /etc/headway/server-ca
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.listenVolumes" -}}
{{- with include "headway.listenCa" . | trim }}
- name: server-ca
  secret:
    {{- . | nindent 4 }}
{{- end }}
{{- end -}}
