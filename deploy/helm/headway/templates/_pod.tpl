{{/*
The pod of a service: a container that waits for the migration, the service, and, where the service runs
untrusted code, the fork server that it runs it in, with no secret, token or database address.

Takes root, service (its command, its role in the database, its section of settings), group, name, values
(its block of values), and, each as text of YAML and each optional: env, mounts, volumes. With forker
(whose children it forks) also forkerEnv and forkerMounts. ports are further ports. image is the block of the image's values.
*/}}
{{- define "headway.pod" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $image := include "headway.image" (dict "root" $root "image" (default $root.Values.image .image)) -}}
{{- $database := dict "root" $root "role" .service -}}
metadata:
  labels:
    {{- include "headway.selector" . | nindent 4 }}
    headway/database: "true"
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "headway.podSecurity" $root.Values | nindent 2 }}
  serviceAccountName: {{ default .name $values.serviceAccount.name }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  terminationGracePeriodSeconds: {{ int64 $values.terminationGracePeriodSeconds }}
  {{- include "headway.placement" . | nindent 2 }}
  initContainers:
    - name: await-migration
      image: {{ $image }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [db, wait, --timeout, {{ int64 $root.Values.migration.waitSeconds | quote }}]
      env:
        {{- include "headway.databaseEnv" $database | nindent 8 }}
      {{- include "headway.containerSecurity" $root | nindent 6 }}
      resources:
        {{- toYaml $root.Values.migration.resources | nindent 8 }}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- include "headway.databaseMounts" $database | nindent 8 }}
  containers:
    - name: {{ .service }}
      image: {{ $image }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [{{ .service }}]
      env:
        - name: HEADWAY_HOME
          value: /var/lib/headway
        {{- include "headway.databaseEnv" $database | nindent 8 }}
        {{- include "headway.listenEnv" $database | nindent 8 }}
        - name: HEADWAY_{{ upper .service }}_HTTP_PORT
          value: {{ $root.Values.http.port | quote }}
        {{- include "headway.settings" . | nindent 8 }}
        {{- with .env }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: {{ $root.Values.http.port }}
        {{- with .ports }}
        {{- . | nindent 8 }}
        {{- end }}
      {{- include "headway.serviceProbes" . | nindent 6 }}
      {{- if $values.preStopSleepSeconds }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ int64 $values.preStopSleepSeconds }}
      {{- end }}
      {{- include "headway.containerSecurity" $root | nindent 6 }}
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- include "headway.databaseMounts" $database | nindent 8 }}
        {{- include "headway.listenMounts" $database | nindent 8 }}
        {{- if .forker }}
        - name: forker
          mountPath: /run/forker
        {{- end }}
        {{- with .mounts }}
        {{- . | nindent 8 }}
        {{- end }}
    {{- if .forker }}
    {{- include "headway.forker" (merge (dict "imageName" $image) .) | nindent 4 }}
    {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: {{ dig "volumes" "tmp" "1Gi" $values }}
    {{- include "headway.databaseVolumes" $database | nindent 4 }}
    {{- include "headway.listenVolumes" $database | nindent 4 }}
    {{- if .forker }}
    - name: forker
      emptyDir:
        sizeLimit: 1Mi
    - name: forker-tmp
      emptyDir:
        sizeLimit: {{ $values.volumes.tmp }}
    {{- end }}
    {{- with .volumes }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The container of the fork server. SIGTERM comes to all containers of a pod at once: it waits for its service. */}}
{{- define "headway.forker" -}}
- name: forker
  image: {{ .imageName }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [forker, --socket, /run/forker/socket, --for, {{ .forker }}, --drain]
  env:
    - name: HOME
      value: /tmp
    {{- with .forkerEnv }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .values.forker.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- range $probe, $numbers := dict "startupProbe" (list 5 60) "livenessProbe" (list 30 3) }}
  {{ $probe }}:
    exec:
      command: [headway, health, forker, --socket, /run/forker/socket]
    periodSeconds: {{ index $numbers 0 }}
    timeoutSeconds: 10
    failureThreshold: {{ index $numbers 1 }}
  {{- end }}
  {{- include "headway.containerSecurity" .root | nindent 2 }}
  resources:
    {{- toYaml .values.forker.resources | nindent 4 }}
  volumeMounts:
    - name: forker-tmp
      mountPath: /tmp
    - name: forker
      mountPath: /run/forker
    {{- with .forkerMounts }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Probes of a service: it is alive while its loop advances, and ready with a database of the right schema. */}}
{{- define "headway.serviceProbes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{/* The settings of a block, as variables of its section. What is no text or number is JSON. */}}
{{- define "headway.settings" -}}
{{- range $name, $value := .values.settings }}
- name: HEADWAY_{{ upper $.service }}_{{ upper $name }}
  value: {{ kindIs "map" $value | ternary (toJson $value) (include "headway.number" $value) | quote }}
{{- end }}
{{- end -}}

{{/* Where pods may run, and over what they are spread. */}}
{{- define "headway.placement" -}}
topologySpreadConstraints:
  {{- range .values.topologySpread.keys }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.values.topologySpread.whenUnsatisfiable }}
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "headway.selector" $ | nindent 8 }}
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}
