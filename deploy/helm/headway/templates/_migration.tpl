{{/* The Job that migrates the database, and sets the passwords of the roles. It runs as the owner of the tables. */}}
{{- define "headway.migrationSpec" -}}
{{- $it := dict "root" . "component" "migration" -}}
{{- $database := dict "root" . "role" "owner" "direct" true -}}
ttlSecondsAfterFinished: {{ int64 .Values.migration.ttlSecondsAfterFinished }}
backoffLimit: {{ int64 .Values.migration.backoffLimit }}
template:
  metadata:
    labels:
      {{- include "headway.selector" $it | nindent 6 }}
      headway/database: "true"
  spec:
    {{- include "headway.podSecurity" .Values | nindent 4 }}
    serviceAccountName: {{ include "headway.fullname" . }}-migrate
    {{- with .Values.imagePullSecrets }}
    imagePullSecrets:
      {{- range . }}
      - name: {{ . }}
      {{- end }}
    {{- end }}
    restartPolicy: Never
    containers:
      - name: migrate
        image: {{ include "headway.image" (dict "root" . "image" .Values.image) }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args: [db, migrate]
        env:
          {{- include "headway.databaseEnv" $database | nindent 10 }}
          {{- range $role := list "scheduler" "parser" "worker" "user" "api" "readonly" }}
          {{- if or $.Values.postgres.enabled (get $.Values.database.secrets $role).name }}
          - name: HEADWAY_ROLES_{{ upper $role }}_PASSWORD
            valueFrom:
              secretKeyRef:
                {{- include "headway.passwordKey" (dict "root" $ "role" $role) | nindent 16 }}
          {{- end }}
          {{- end }}
        {{- include "headway.containerSecurity" . | nindent 8 }}
        resources:
          {{- toYaml .Values.migration.resources | nindent 10 }}
        volumeMounts:
          - name: tmp
            mountPath: /tmp
          {{- include "headway.databaseMounts" $database | nindent 10 }}
    volumes:
      - name: tmp
        emptyDir:
          sizeLimit: 64Mi
      {{- include "headway.databaseVolumes" $database | nindent 6 }}
{{- end -}}
