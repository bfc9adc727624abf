{{/* What makes every pod fit the PodSecurity profile `restricted`. */}}

{{/* Takes uid. */}}
{{- define "headway.podSecurity" -}}
enableServiceLinks: false
automountServiceAccountToken: false
shareProcessNamespace: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ int64 .uid }}
  runAsGroup: {{ int64 .uid }}
  fsGroup: {{ int64 .uid }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "headway.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}
