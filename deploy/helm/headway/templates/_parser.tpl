{{/* What is special to parsers: where DAG files come from. Both containers have them at the same paths. */}}

{{/* HEADWAY_PARSER_BUNDLES, with every source as a bundle. */}}
{{- define "headway.bundles" -}}
{{- $bundles := dict -}}
{{- range .Values.dags.git -}}
{{- $bundle := dict "git" .url -}}
{{- with .ref }}{{ $_ := set $bundle "ref" . }}{{ end -}}
{{- with .subdir }}{{ $_ := set $bundle "subdir" . }}{{ end -}}
{{- with .cronSemantics }}{{ $_ := set $bundle "cron_semantics" . }}{{ end -}}
{{- with .refreshInterval }}{{ $_ := set $bundle "refresh_interval" . }}{{ end -}}
{{- if hasKey . "parseTimeSecrets" }}{{ $_ := set $bundle "parse_time_secrets" .parseTimeSecrets }}{{ end -}}
{{- $_ := set $bundles .name $bundle -}}
{{- end -}}
{{- if .Values.dags.image.repository }}{{ $_ := set $bundles "image" (dict "path" .Values.dags.image.path) }}{{ end -}}
{{- with .Values.dags.volume -}}
{{- if .claim }}{{ $_ := set $bundles "volume" (dict "path" (clean (printf "/mnt/dags/%s" .path))) }}{{ end -}}
{{- end -}}
{{ toJson $bundles }}
{{- end -}}

{{/* Not empty if a parser decrypts connections and variables for DAG files: of all bundles, or of some. */}}
{{- define "headway.parserDecrypts" -}}
{{- $reads := .Values.dags.parseTimeSecrets -}}
{{- range .Values.dags.git }}{{ if .parseTimeSecrets }}{{ $reads = true }}{{ end }}{{ end -}}
{{- if and $reads .Values.encryptionKeys.name }}true{{ end -}}
{{- end -}}

{{- define "headway.parserEnv" -}}
- name: HEADWAY_PARSER_FORKER
  value: /run/forker/socket
- name: HEADWAY_PARSER_BUNDLES
  value: {{ include "headway.bundles" . | quote }}
{{- if .Values.dags.parseTimeSecrets }}
- name: HEADWAY_PARSER_PARSE_TIME_SECRETS
  value: "true"
{{- end }}
{{- if include "headway.parserDecrypts" . }}
- name: HEADWAY_SECRETS_KEYS_FILE
  value: /etc/headway/keys/secret-keys
{{- end }}
{{- with .Values.dags.gitAccess }}
{{- if .sshSecret }}
- name: GIT_SSH_COMMAND
  value: >-
    ssh -i /etc/headway/git-ssh/identity -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes
    -o UserKnownHostsFile=/etc/headway/git-ssh/known_hosts
{{- end }}
{{- if .credentialsSecret }}
- name: GIT_CONFIG_COUNT
  value: "1"
- name: GIT_CONFIG_KEY_0
  value: credential.helper
- name: GIT_CONFIG_VALUE_0
  value: store --file=/etc/headway/git-credentials/credentials
{{- end }}
{{- if .caSecret }}
- name: GIT_SSL_CAINFO
  value: /etc/headway/git-ca/ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes values, and readOnly for the container that runs DAG files. Checkouts are in the home, which a parser must be able to write to. */}}
{{- define "headway.dagMounts" -}}
{{- if .values.dags.git }}
- name: bundles
  mountPath: /var/lib/headway
  readOnly: {{ .readOnly }}
{{- end }}
{{- if .values.dags.volume.claim }}
- name: dags
  mountPath: /mnt/dags
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.parserMounts" -}}
{{- include "headway.dagMounts" (dict "values" .Values "readOnly" false) }}
{{- if include "headway.parserDecrypts" . }}
- name: keys
  mountPath: /etc/headway/keys
  readOnly: true
{{- end }}
{{- range $name := include "headway.gitSecrets" . | fromYaml | keys | sortAlpha }}
- name: {{ $name }}
  mountPath: /etc/headway/{{ $name }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.parserVolumes" -}}
{{- if .Values.dags.git }}
- name: bundles
  emptyDir:
    sizeLimit: {{ .Values.parser.volumes.bundles }}
{{- end }}
{{- with .Values.dags.volume.claim }}
- name: dags
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- if include "headway.parserDecrypts" . }}
- name: keys
  secret:
    secretName: {{ .Values.encryptionKeys.name }}
    defaultMode: 0440
    items: [{key: {{ .Values.encryptionKeys.key }}, path: secret-keys}]
{{- end }}
{{- range $name, $secret := include "headway.gitSecrets" . | fromYaml }}
- name: {{ $name }}
  secret:
    secretName: {{ $secret }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* The Secrets that git logs in with, by the names of their volumes. */}}
{{- define "headway.gitSecrets" -}}
{{- with .Values.dags.gitAccess }}
{{- with .sshSecret }}
git-ssh: {{ . }}
{{- end }}
{{- with .credentialsSecret }}
git-credentials: {{ . }}
{{- end }}
{{- with .caSecret }}
git-ca: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.parserEgress" -}}
{{- if .Values.dags.git -}}
{{ include "headway.egressTo" .Values.networkPolicy.git }}
{{- end -}}
{{- end -}}
