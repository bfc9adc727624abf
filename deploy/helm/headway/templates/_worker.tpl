{{/* What is special to workers: their group, and the folders that they share with their fork server. */}}

{{/* A group with all of its values: what it leaves out is that of workerDefaults. Takes root and group. */}}
{{- define "headway.workerGroup" -}}
{{- $group := mergeOverwrite (deepCopy .root.Values.workerDefaults) (deepCopy .group) -}}
{{- $spark := $group.spark.kind -}}
{{- $_ := set $group "queues" (default (list $group.name) $group.queues) -}}
{{- $_ := set $group "imageVariant" (default (eq $spark "none" | ternary "plain" "spark") $group.imageVariant) -}}
{{- $usual := eq $spark "embedded" | ternary $group.embeddedSparkResources $group.plainResources -}}
{{- $_ := set $group "resources" (default $usual $group.resources) -}}
{{- $drain := include "headway.workerDrain" $group | int -}}
{{- $_ := set $group "terminationGracePeriodSeconds"
    (default (add $drain (ceil $group.leaseDuration)) $group.terminationGracePeriodSeconds) -}}
{{ toYaml $group }}
{{- end -}}

{{/* Seconds that a worker of the group takes to end, at least. */}}
{{- define "headway.workerDrain" -}}
{{ add .preStopSleepSeconds (ceil .drainGrace) (ceil .killGrace) 10 }}
{{- end -}}

{{- define "headway.workerEnv" -}}
{{- $values := .root.Values -}}
- name: HEADWAY_WORKER_FORKER
  value: /run/forker/socket
- name: HEADWAY_WORKER_QUEUES
  value: {{ join "," .values.queues | quote }}
- name: HEADWAY_WORKER_SLOTS
  value: {{ include "headway.number" .values.slots | quote }}
- name: HEADWAY_WORKER_CALLBACK_SLOTS
  value: {{ include "headway.number" .values.callbackSlots | quote }}
- name: HEADWAY_WORKER_LEASE_DURATION
  value: {{ include "headway.number" .values.leaseDuration | quote }}
- name: HEADWAY_WORKER_HEARTBEAT_INTERVAL
  value: {{ include "headway.number" .values.heartbeatInterval | quote }}
- name: HEADWAY_WORKER_KILL_GRACE
  value: {{ include "headway.number" .values.killGrace | quote }}
- name: HEADWAY_WORKER_DRAIN_GRACE
  value: {{ include "headway.number" .values.drainGrace | quote }}
- name: HEADWAY_LOGS_KEEP_BYTES
  value: {{ int64 $values.logs.keepBytes | quote }}
{{- with include "headway.logsRemote" .root }}
- name: HEADWAY_LOGS_REMOTE
  value: {{ . }}
{{- end }}
{{- if $values.api.enabled }}
- name: HEADWAY_WORKER_HTTP_ADDRESS
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{ include "headway.workerSecretEnv" . }}
{{ include "headway.sparkEnv" . }}
{{- end -}}

{{- define "headway.logsRemote" -}}
{{- if .Values.logs.volume.claim -}}
file:///mnt/logs
{{- else -}}
{{ .Values.logs.remote }}
{{- end -}}
{{- end -}}

{{- define "headway.workerMounts" -}}
- name: home
  mountPath: /var/lib/headway
- name: code
  mountPath: /var/lib/headway/cache/code
- name: scratch
  mountPath: /var/lib/headway/scratch
{{- if .root.Values.logs.volume.claim }}
- name: logs
  mountPath: /mnt/logs
{{- end }}
{{- if eq .values.spark.kind "embedded" }}
{{- include "headway.dataMounts" . }}
{{- end }}
{{- include "headway.workerSecretMounts" . }}
{{- end -}}

{{/* What attempts find at paths of the group's choice; an embedded Spark, which runs beside the worker, finds it too. */}}
{{- define "headway.dataMounts" -}}
{{- range .values.dataVolumes }}
- name: data-{{ .name }}
  mountPath: {{ .path }}
  readOnly: {{ default false .readOnly }}
{{- end }}
{{- end -}}

{{- define "headway.workerForkerMounts" -}}
- name: code
  mountPath: /var/lib/headway/cache/code
  readOnly: true
- name: scratch
  mountPath: /var/lib/headway/scratch
{{- include "headway.dataMounts" . }}
{{- include "headway.driverMounts" . }}
{{- end -}}

{{- define "headway.workerVolumes" -}}
{{- range $name := list "home" "code" "scratch" }}
- name: {{ $name }}
  emptyDir:
    sizeLimit: {{ get $.values.volumes $name }}
{{- end }}
{{- with .root.Values.logs.volume.claim }}
- name: logs
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- range .values.dataVolumes }}
- name: data-{{ .name }}
  persistentVolumeClaim:
    claimName: {{ .claim }}
{{- end }}
{{- include "headway.workerSecretVolumes" . }}
{{- include "headway.driverVolumes" . }}
{{- end -}}

{{- define "headway.workerEgress" -}}
{{- if and .root.Values.logs.remote (not .root.Values.logs.volume.claim) }}
{{ include "headway.egressTo" .root.Values.networkPolicy.logs }}
{{- end }}
{{- include "headway.sparkEgress" . }}
{{- end -}}
