{{/* What values.schema.json cannot say: what contradicts each other. All that is wrong is told at once. */}}
{{- define "headway.validate" -}}
{{- $wrong := list -}}
{{- range list "headway.wrongGroups" "headway.wrongServices" "headway.wrongDags" "headway.wrongLogs" "headway.wrongDatabase" "headway.wrongApi" -}}
{{- $wrong = concat $wrong (include . $ | fromYamlArray) -}}
{{- end -}}
{{- if $wrong }}{{ fail (printf "\n\n- %s\n" (join "\n- " $wrong)) }}{{ end -}}
{{- end -}}

{{- define "headway.wrongGroups" -}}
{{- $names := list -}}
{{- range .Values.workers -}}
{{- if has .name $names }}
- {{ printf "workers: two groups are called %s; rename one." .name | quote }}
{{- end }}
{{- $names = append $names .name -}}
{{- $group := include "headway.workerGroup" (dict "root" $ "group" .) | fromYaml -}}
{{- include "headway.wrongGroup" (dict "root" $ "group" $group) }}
{{- include "headway.wrongConnection" (dict "name" .name "kind" $group.spark.kind "given" (default dict .spark)) }}
{{- end }}
{{- end -}}

{{/* Takes what a group says of its Spark by itself: workerDefaults may have a connection that one group has no use for. */}}
{{- define "headway.wrongConnection" -}}
{{- $where := printf "workers (%s): spark.connection" .name -}}
{{- $secret := dig "connectionSecret" "name" "" .given }}
{{- if and .given.connection (not (has .kind (list "connect" "standalone"))) }}
- {{ printf "%s is for `connect` and `standalone`, not for `%s`; leave it out, or set spark.kind." $where .kind | quote }}
{{- end }}
{{- if and $secret (has .kind (list "none" "embedded")) }}
- {{ printf "%sSecret names another Spark than `%s`; leave it out, or set spark.kind." $where .kind | quote }}
{{- end }}
{{- if and $secret .given.connection }}
- {{ printf "%s and spark.connectionSecret are both set; keep one." $where | quote }}
{{- end }}
{{- end -}}

{{- define "headway.wrongGroup" -}}
{{- $group := .group -}}
{{- $where := printf "workers (%s):" $group.name -}}
{{- $lease := addf (mulf 3 $group.heartbeatInterval) $group.killGrace }}
{{- if lt (float64 $group.leaseDuration) (float64 $lease) }}
- {{ printf "%s leaseDuration is %v, and must be at least %v: three times heartbeatInterval plus killGrace, or a worker could not stop its attempts before they are given away." $where $group.leaseDuration $lease | quote }}
{{- end }}
{{- $drain := include "headway.workerDrain" $group | int }}
{{- if lt (int $group.terminationGracePeriodSeconds) $drain }}
- {{ printf "%s terminationGracePeriodSeconds is %v, and must be at least %d: preStopSleepSeconds, drainGrace and killGrace plus 10, or attempts are killed that could have ended." $where $group.terminationGracePeriodSeconds $drain | quote }}
{{- end }}
{{- with $group.autoscaling }}
{{- if and (eq .kind "hpa") (lt (int .minReplicas) 1) }}
- {{ printf "%s autoscaling.minReplicas is 0, which only KEDA can; an HPA needs 1." $where | quote }}
{{- end }}
{{- if lt (int .maxReplicas) (int .minReplicas) }}
- {{ printf "%s autoscaling.maxReplicas (%v) is less than minReplicas (%v)." $where .maxReplicas .minReplicas | quote }}
{{- end }}
{{- if and (eq .kind "keda") (not $.root.Values.postgres.enabled) (not $.root.Values.database.secrets.readonly.name) }}
- {{ printf "%s KEDA logs in as headway_readonly; name its Secret in database.secrets.readonly.name." $where | quote }}
{{- end }}
{{- if and (eq .kind "keda") $.root.Values.postgres.enabled $.root.Values.networkPolicy.enabled (not $.root.Values.postgres.from) }}
- {{ printf "%s no NetworkPolicy lets KEDA in to the chart's Postgres; name KEDA's namespace in postgres.from." $where | quote }}
{{- end }}
{{- end }}
{{- if and (eq $group.spark.kind "kubernetes") (not $group.spark.kubernetes.driverInPod) (not $group.spark.connectionSecret.name) (not (contains "spark.kubernetes.authenticate." (toJson $group.spark.kubernetes.conf))) }}
- {{ printf "%s nothing logs in to the API server; set spark.kubernetes.driverInPod, by which attempts get a service account token, or give another login in spark.connectionSecret or spark.kubernetes.conf." $where | quote }}
{{- end }}
{{- if and (eq $group.spark.kind "standalone") .root.Values.networkPolicy.enabled (not $group.spark.network.to) }}
- {{ printf "%s spark.network.to is empty; name the peers that master and executors are at, for the NetworkPolicy." $where | quote }}
{{- end }}
{{- end -}}

{{- define "headway.wrongServices" -}}
{{- if and .Values.metrics.podMonitor.enabled .Values.networkPolicy.enabled (not .Values.metrics.from) }}
- "metrics.podMonitor.enabled is true, but no NetworkPolicy lets Prometheus in; name its namespace in metrics.from."
{{- end }}
{{- range $name := list "scheduler" "parser" "api" }}
{{- $its := get $.Values $name }}
{{- $least := add $its.preStopSleepSeconds 10 }}
{{- if lt (int $its.terminationGracePeriodSeconds) (int $least) }}
- {{ printf "%s: terminationGracePeriodSeconds is %v, and must be at least %d: preStopSleepSeconds plus 10, or it is killed before it has ended." $name $its.terminationGracePeriodSeconds $least | quote }}
{{- end }}
{{- end }}
{{- with .Values.scheduler.settings }}
{{- if and (eq (toString .use_row_level_locking) "false") (gt (int $.Values.scheduler.replicas) 1) }}
- scheduler.settings.use_row_level_locking is false, which is for one scheduler alone; set scheduler.replicas to 1.
{{- end }}
{{- $beat := default 2 .heartbeat_interval }}
{{- $dead := default 15 .scheduler_health_check_threshold }}
{{- if lt (float64 $dead) (mulf 3 $beat) }}
- {{ printf "scheduler.settings.scheduler_health_check_threshold is %v, and must be at least three times heartbeat_interval (%v), or live processes would be declared dead." $dead $beat | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.wrongApi" -}}
{{- with .Values.api }}
{{- if .enabled }}
{{- if not (or $.Values.postgres.enabled $.Values.database.secrets.api.name) }}
- "api.enabled is true; name the Secret of headway_api in database.secrets.api.name."
{{- end }}
{{- if and .ingress.enabled (not .ingress.host) }}
- "api.ingress.enabled is true; name the host in api.ingress.host."
{{- end }}
{{- if and .gateway.enabled (not (and .gateway.hostnames .gateway.parentRefs)) }}
- "api.gateway.enabled is true; name the Gateway in api.gateway.parentRefs, and the hosts in api.gateway.hostnames."
{{- end }}
{{- if and (or .ingress.enabled .gateway.enabled) $.Values.networkPolicy.enabled (not .from) }}
- "api: no NetworkPolicy lets the controller of api.ingress or api.gateway in; name its namespace in api.from."
{{- end }}
{{- if eq (int .port) (int $.Values.http.port) }}
- "api.port and http.port are one port; choose another one."
{{- end }}
{{- if and (eq .autoscaling.kind "hpa") (lt (int .autoscaling.maxReplicas) (int .autoscaling.minReplicas)) }}
- {{ printf "api.autoscaling.maxReplicas (%v) is less than minReplicas (%v)." .autoscaling.maxReplicas .autoscaling.minReplicas | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.wrongDags" -}}
{{- with .Values.dags }}
{{- if not (or .git .image.repository .volume.claim) }}
- "dags: there are none; give a bundle in dags.git, dags.image.repository or dags.volume.claim."
{{- end }}
{{- $names := list "image" "volume" }}
{{- range .git }}
{{- if has .name $names }}
- {{ printf "dags.git: %s is the name of two bundles, or of the image's or the volume's; rename it." .name | quote }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headway.wrongLogs" -}}
{{- if and .Values.logs.remote .Values.logs.volume.claim }}
- "logs.remote and logs.volume.claim are both set; keep one."
{{- end }}
{{- end -}}

{{- define "headway.wrongDatabase" -}}
{{- if and .Values.postgres.enabled .Values.database.host }}
- "database.host and postgres.enabled are both set; keep one."
{{- end }}
{{- end -}}
