{{/*
PgBouncer's configuration: a pool for each role, each under the role's name. Whoever logs in to PgBouncer logs in to
Postgres by the same name, so the name of another role's pool gives nobody that role.
*/}}
{{- define "headway.pgbouncerConfig" -}}
{{- $its := .Values.pgbouncer -}}
{{- $mode := .Values.postgres.enabled | ternary "disable" .Values.database.tls.mode -}}
[databases]
{{- range $role, $size := $its.poolSizes }}
headway_{{ $role }} = host={{ include "headway.databaseHost" $ }} port={{ $.Values.database.port }} dbname={{ $.Values.database.name }} pool_size={{ $size }}
{{- end }}

[pgbouncer]
listen_addr = *
listen_port = 5432
unix_socket_dir =
pool_mode = transaction
auth_type = scram-sha-256
auth_file = /etc/headway/userlist/userlist.txt
max_client_conn = {{ int64 $its.maxClientConnections }}
ignore_startup_parameters = extra_float_digits
server_tls_sslmode = {{ $mode }}
{{- if hasPrefix "verify" $mode }}
server_tls_ca_file = /etc/headway/database-ca/ca.crt
{{- end }}
{{- if $its.tls.enabled }}
client_tls_sslmode = require
client_tls_cert_file = /etc/headway/tls/tls.crt
client_tls_key_file = /etc/headway/tls/tls.key
{{- end }}
{{- end -}}
