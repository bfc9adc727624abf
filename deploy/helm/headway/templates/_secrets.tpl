{{/*
Connections, variables and keys of a worker group. An attempt runs in another container and sees none of them.
What an embedded Spark runs is in the worker's own container, as the worker's account: there they are variables
of the worker, which no other process can read, instead of files.
*/}}

{{- define "headway.workerSecretEnv" -}}
{{- $embedded := eq .values.spark.kind "embedded" -}}
{{- with .root.Values.encryptionKeys }}
{{- if and .name $embedded }}
- name: HEADWAY_SECRETS_KEYS
  valueFrom:
    secretKeyRef: {name: {{ .name }}, key: {{ .key }}}
{{- else if .name }}
- name: HEADWAY_SECRETS_KEYS_FILE
  value: /etc/headway/keys/secret-keys
{{- end }}
{{- end }}
{{- if not $embedded }}
{{- if or .values.connections .values.variables }}
- name: HEADWAY_SECRETS_FOLDER
  value: /etc/headway/secrets
{{- end }}
{{- else }}
{{- range $kind, $secrets := dict "CONN" .values.connections "VAR" .values.variables }}
{{- range $id, $secret := $secrets }}
- name: HEADWAY_{{ $kind }}_{{ $id | upper | replace "-" "_" | replace "." "_" }}
  valueFrom:
    secretKeyRef: {name: {{ $secret.name }}, key: {{ $secret.key }}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.workerSecretMounts" -}}
{{- if ne .values.spark.kind "embedded" }}
{{- if .root.Values.encryptionKeys.name }}
- name: keys
  mountPath: /etc/headway/keys
  readOnly: true
{{- end }}
{{- if or .values.connections .values.variables }}
- name: secrets
  mountPath: /etc/headway/secrets
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.workerSecretVolumes" -}}
{{- if ne .values.spark.kind "embedded" }}
{{- with .root.Values.encryptionKeys }}
{{- if .name }}
- name: keys
  secret:
    secretName: {{ .name }}
    defaultMode: 0440
    items: [{key: {{ .key }}, path: secret-keys}]
{{- end }}
{{- end }}
{{- if or .values.connections .values.variables }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $folder := list "connections" "variables" }}
      {{- range $id, $secret := get $.values $folder }}
      - secret:
          name: {{ $secret.name }}
          items: [{key: {{ $secret.key }}, path: {{ $folder }}/{{ $id }}}]
      {{- end }}
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}
