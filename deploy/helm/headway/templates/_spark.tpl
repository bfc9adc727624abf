{{/* Where the Spark of a worker group is: the connection spark_default, and what its drivers need. */}}

{{/* Whether drivers in the group's pods take a service account token. Takes values. */}}
{{- define "headway.hasToken" -}}
{{- if and (eq .values.spark.kind "kubernetes") .values.spark.kubernetes.driverInPod }}true{{ end -}}
{{- end -}}

{{- define "headway.driverEnv" -}}
{{- if has .values.spark.kind (list "standalone" "kubernetes") -}}
- name: SPARK_LOCAL_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end -}}
{{- end -}}

{{- define "headway.sparkEnv" -}}
{{- $spark := .values.spark -}}
{{ include "headway.driverEnv" . }}
{{- if $spark.connectionSecret.name }}
- name: HEADWAY_CONN_SPARK_DEFAULT
  valueFrom:
    secretKeyRef: {name: {{ $spark.connectionSecret.name }}, key: {{ $spark.connectionSecret.key }}}
{{- else if eq $spark.kind "kubernetes" }}
- name: POD_NAME
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: HEADWAY_CONN_SPARK_DEFAULT
  value: {{ include "headway.kubernetesConnection" . | quote }}
{{- else if has $spark.kind (list "connect" "standalone") }}
- name: HEADWAY_CONN_SPARK_DEFAULT
  value: {{ $spark.connection | quote }}
{{- end }}
{{- end -}}

{{/* The connection of Spark on Kubernetes. The kubelet fills in $(…). */}}
{{- define "headway.kubernetesConnection" -}}
{{- $its := .values.spark.kubernetes -}}
{{- $conf := dict
  "spark.kubernetes.container.image" $its.image
  "spark.kubernetes.executor.podTemplateFile" "/etc/headway/spark/executor.yaml" -}}
{{- $namespace := default .root.Release.Namespace $its.namespace -}}
{{- if eq $its.deployMode "client" -}}
{{- $_ := set $conf "spark.driver.host" "$(SPARK_LOCAL_IP)" -}}
{{- if eq $namespace .root.Release.Namespace -}}
{{- /* Executors then go with the driver's pod. It cannot own a pod of another namespace. */ -}}
{{- $_ := set $conf "spark.kubernetes.driver.pod.name" "$(POD_NAME)" -}}
{{- end -}}
{{- end -}}
{{ toJson (dict
  "conn_type" "k8s"
  "host" $its.master
  "extra" (dict
    "namespace" $namespace
    "deploy_mode" $its.deployMode
    "conf" (mergeOverwrite $conf $its.conf))) }}
{{- end -}}

{{- define "headway.driverMounts" -}}
{{- if eq .values.spark.kind "kubernetes" }}
- name: executor
  mountPath: /etc/headway/spark
  readOnly: true
{{- end }}
{{- if include "headway.hasToken" . }}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}
{{- end -}}

{{- define "headway.driverVolumes" -}}
{{- if eq .values.spark.kind "kubernetes" }}
- name: executor
  configMap:
    name: {{ include "headway.fullname" .root }}-worker-{{ .values.name }}-executor
{{- end }}
{{- if include "headway.hasToken" . }}
- name: token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
{{- end }}
{{- end -}}

{{/* What drivers and sessions reach: a Connect server, a master and its executors, or the API server and executors. */}}
{{- define "headway.sparkEgress" -}}
{{- $spark := .values.spark -}}
{{- if eq $spark.kind "connect" }}
{{- $port := regexFind ":[0-9]+" $spark.connection | trimPrefix ":" | default "15002" | int }}
{{- /* The port of a connection in a Secret is not known here: named peers may be reached at any. */}}
{{- $ports := list $port }}
{{- if and $spark.connectionSecret.name $spark.network.to }}{{ $ports = list }}{{ end }}
{{ include "headway.egressTo" (dict "to" $spark.network.to "ports" $ports) }}
{{- else if eq $spark.kind "standalone" }}
- to:
    {{- toYaml $spark.network.to | nindent 4 }}
{{- else if eq $spark.kind "kubernetes" }}
{{ include "headway.egressTo" .root.Values.networkPolicy.kubernetesApi }}
- to:
    {{- include "headway.executorPeers" . | nindent 4 }}
{{- end }}
{{- end -}}

{{/* What reaches drivers in the group's pods: executors, at ports that Spark chooses. */}}
{{- define "headway.workerIngress" -}}
{{- $spark := .values.spark -}}
{{- if and (eq $spark.kind "standalone") $spark.network.from }}
- from:
    {{- toYaml $spark.network.from | nindent 4 }}
{{- else if eq $spark.kind "kubernetes" }}
- from:
    {{- include "headway.executorPeers" . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "headway.executorPeers" -}}
- podSelector:
    matchLabels:
      spark-role: executor
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ default .root.Release.Namespace .values.spark.kubernetes.namespace }}
{{- end -}}

{{/* What a driver in client mode may do, and how its executors fit the profile `restricted`. */}}
{{- define "headway.driverAccess" -}}
{{- if eq .values.spark.kind "kubernetes" }}
{{- $name := printf "%s-worker-%s" (include "headway.fullname" .root) .values.name }}
{{- $it := dict "root" .root "component" "worker" "group" .values.name }}
{{- $namespace := default .root.Release.Namespace .values.spark.kubernetes.namespace }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "headway.metadata" (merge (dict "name" (printf "%s-executor" $name)) $it) | nindent 2 }}
data:
  executor.yaml: |
    apiVersion: v1
    kind: Pod
    spec:
      {{- include "headway.podSecurity" (dict "uid" .values.spark.kubernetes.executorUid) | nindent 6 }}
      containers:
        - name: executor
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
{{- if include "headway.hasToken" . }}
{{- $role := eq $namespace .root.Release.Namespace | ternary $name (printf "%s-%s" .root.Release.Namespace $name) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $role }}
  namespace: {{ $namespace }}
  labels:
    {{- include "headway.labels" $it | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [pods, configmaps, services, persistentvolumeclaims]
    verbs: [create, get, list, watch, delete, deletecollection]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $role }}
  namespace: {{ $namespace }}
  labels:
    {{- include "headway.labels" $it | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $role }}
subjects:
  - kind: ServiceAccount
    name: {{ default $name .values.serviceAccount.name }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}
{{- end -}}
