/** The table of a sidecar's metrics: sidecar/metrics.ts creates them. Labels are bounded, and none names the pod. */
import type { MetricTable } from './metric-set.ts';
import { PROCESS_METRICS } from './process-metrics.ts';

/** From the duration of one hop to that of the longest calls. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];

export const SIDECAR_METRICS = {
  modelgateway_sidecar_requests_total: {
    type: 'counter',
    labels: ['result', 'status'],
    help:
      'Requests of the app by result and status ("": none was sent). answered: the fleet responded, with any ' +
      'status; cut: the fleet broke off; left: the app disconnected; unreachable: no connection; broken: the ' +
      'connection ended before a response; no_key: there is no key; refused: not meant for the fleet.',
  },
  modelgateway_sidecar_request_duration_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: "Time from a request's arrival to the end of its response.",
  },
  modelgateway_sidecar_first_byte_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: "Time from a request's arrival to the headers of the fleet's response.",
  },
  modelgateway_sidecar_requests_in_flight: {
    type: 'gauge',
    labels: [],
    help: 'Requests whose responses are not complete.',
  },
  modelgateway_sidecar_connect_retries_total: {
    type: 'counter',
    labels: [],
    help: 'Retries because no connection could be established.',
  },
  modelgateway_sidecar_bytes_total: {
    type: 'counter',
    labels: ['direction'],
    help: 'Bytes of bodies, by direction: to_fleet, to_app.',
  },
  modelgateway_sidecar_connections: {
    type: 'gauge',
    labels: ['state'],
    help: 'Connections to the fleet, by state: busy (including WebSockets), idle.',
  },
  modelgateway_sidecar_key_loaded: {
    type: 'gauge',
    labels: [],
    help: '1 while there is a key to send; 0: its Secret is missing or contains none, and every request is refused.',
  },
  modelgateway_sidecar_key_changes_total: {
    type: 'counter',
    labels: [],
    help: 'Changes of the key since the start.',
  },
  ...PROCESS_METRICS,
} as const satisfies MetricTable;
