/** A sidecar's metrics; their table is in telemetry/. */
import { Registry } from 'prom-client';
import { registerMetrics } from '../telemetry/metric-set.ts';
import { processCollectors, setProcessInfo } from '../telemetry/process-metrics.ts';
import type { ProcessStats } from '../telemetry/process-metrics.ts';
import { SIDECAR_METRICS } from '../telemetry/sidecar-metric-table.ts';
import type { FleetConnection } from './fleet.ts';
import type { RequestResult } from './forward.ts';
import type { MountedKey } from './key.ts';

export interface SidecarMetrics {
  readonly registry: Registry;
  begun(): void;
  ended(request: {
    readonly result: RequestResult;
    readonly status: number | undefined;
    readonly durationMs: number;
  }): void;
  firstByte(durationMs: number): void;
  readonly retried: () => void;
  readonly bytes: (direction: 'to_fleet' | 'to_app', bytes: number) => void;
}

export interface SidecarMetricsOptions {
  readonly version: string;
  readonly process: ProcessStats;
  readonly key: MountedKey;
  readonly fleet: Pick<FleetConnection, 'connections'>;
}

/** Creates the metrics in a registry of their own. */
export function createSidecarMetrics({ version, process, key, fleet }: SidecarMetricsOptions): SidecarMetrics {
  const registry = new Registry();
  const metrics = registerMetrics(registry, SIDECAR_METRICS, {
    ...processCollectors(process),
    modelgateway_sidecar_connections(gauge) {
      const { busy, idle } = fleet.connections();
      gauge.set({ state: 'busy' }, busy);
      gauge.set({ state: 'idle' }, idle);
    },
    modelgateway_sidecar_key_loaded: (gauge) => gauge.set(key.current.header === undefined ? 0 : 1),
    modelgateway_sidecar_key_changes_total: (counter) => counter.set({}, key.changes),
  });
  setProcessInfo(metrics, version, process);
  for (const direction of ['to_fleet', 'to_app']) metrics.modelgateway_sidecar_bytes_total.inc({ direction }, 0);
  return {
    registry,
    begun: () => metrics.modelgateway_sidecar_requests_in_flight.inc(),
    ended({ result, status = '', durationMs }) {
      metrics.modelgateway_sidecar_requests_in_flight.dec();
      metrics.modelgateway_sidecar_requests_total.inc({ result, status });
      metrics.modelgateway_sidecar_request_duration_seconds.observe({}, durationMs / 1000);
    },
    firstByte: (durationMs) => metrics.modelgateway_sidecar_first_byte_seconds.observe({}, durationMs / 1000),
    retried: () => metrics.modelgateway_sidecar_connect_retries_total.inc({}),
    bytes: (direction, count) => metrics.modelgateway_sidecar_bytes_total.inc({ direction }, count),
  };
}
