{{/* The configuration of the Envoys. */}}

{{/* The headless Service that serves it. */}}
{{- define "gateway.edgeServiceName" -}}
{{ include "gateway.component" (list . "operator") }}-edge
{{- end }}

{{/* The configuration of docs/examples/kubernetes/edge.yaml, with this release's names. */}}
{{- define "gateway.edgeConfig" -}}
envoy.yaml: |
  admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}
  node: {id: edge, cluster: {{ include "gateway.component" (list . "edge") }}}
  dynamic_resources:
    ads_config: {api_type: DELTA_GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: operator}}]}
    lds_config: {ads: {}, resource_api_version: V3}
    cds_config: {ads: {}, resource_api_version: V3}
  static_resources:
    clusters:
    - name: operator
      type: STRICT_DNS
      connect_timeout: 2s
      load_assignment:
        cluster_name: operator
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: {{ include "gateway.edgeServiceName" . }}.{{ .Release.Namespace }}.svc, port_value: 18001}}}}]}]
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {http2_protocol_options: {connection_keepalive: {interval: 20s, timeout: 10s}}}
          http_filters:
          # The ServiceAccount token, which Envoy reads again when the kubelet renews it.
          - name: envoy.filters.http.credential_injector
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.credential_injector.v3.CredentialInjector
              credential:
                name: envoy.http.injected_credentials.generic
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic
                  header: authorization
                  header_value_prefix: "Bearer "
                  credential: {name: token, sds_config: {path_config_source: {path: /etc/envoy/token.yaml}, resource_api_version: V3}}
          - name: envoy.filters.http.upstream_codec
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec}
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: {{ include "gateway.operatorAddress" . }}
          common_tls_context:
            alpn_protocols: [h2]
            validation_context_sds_secret_config: {name: ca, sds_config: {path_config_source: {path: /etc/envoy/ca.yaml}, resource_api_version: V3}}
  overload_manager:
    resource_monitors:
    - name: envoy.resource_monitors.global_downstream_max_connections
      typed_config: {"@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig, max_active_downstream_connections: {{ int64 .Values.edge.maxConnections }}}
token.yaml: |
  resources:
  - "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
    name: token
    generic_secret: {secret: {filename: /var/run/secrets/modelgateway.dev/edge/token, watched_directory: {path: /var/run/secrets/modelgateway.dev/edge}}}
ca.yaml: |
  resources:
  - "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
    name: ca
    validation_context:
      trusted_ca: {filename: /var/run/configmaps/modelgateway.dev/xds/ca.crt}
      watched_directory: {path: /var/run/configmaps/modelgateway.dev/xds}
      match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: "{{ include "gateway.operatorAddress" . }}"}}]
{{- end }}
