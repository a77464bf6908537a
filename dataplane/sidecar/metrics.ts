/** A sidecar's metrics, over their table in telemetry/. */
import type { ProcessFigures } from '../telemetry/metrics.ts';
import { CONTENT_TYPE, recorderOf } from '../telemetry/recorder.ts';
import { SIDECAR_METRICS } from '../telemetry/sidecar-metric-table.ts';
import type { SidecarMetricName } from '../telemetry/sidecar-metric-table.ts';
import type { Fleet } from './fleet.ts';
import type { Result } from './forward.ts';
import type { KeyHolder } from './key.ts';

export interface SidecarMetrics {
  readonly contentType: string;
  /** The page, as it stands. */
  render(): Promise<string>;
  begun(): void;
  ended(request: { readonly result: Result; readonly status: number | undefined; readonly durationMs: number }): void;
  firstByte(durationMs: number): void;
  readonly retried: () => void;
  readonly bytes: (direction: 'to_fleet' | 'to_app', bytes: number) => void;
}

export interface SidecarMetricsOptions {
  readonly version: string;
  readonly process: ProcessFigures;
  readonly key: KeyHolder;
  readonly fleet: Pick<Fleet, 'connections'>;
}

export function createSidecarMetrics({ version, process, key, fleet }: SidecarMetricsOptions): SidecarMetrics {
  const recorder = recorderOf<SidecarMetricName>(SIDECAR_METRICS);
  const duration = recorder.series('modelgateway_sidecar_request_duration_seconds', {});
  const head = recorder.series('modelgateway_sidecar_first_byte_seconds', {});
  const bytes = { to_fleet: recorder.series('modelgateway_sidecar_bytes_total', { direction: 'to_fleet' }), to_app: recorder.series('modelgateway_sidecar_bytes_total', { direction: 'to_app' }) };
  let inFlight = 0;
  let cpuSeconds = 0;
  recorder.set('modelgateway_build_info', { version, node_version: process.versions.node }, 1);
  recorder.set('process_start_time_seconds', {}, Math.round(performance.timeOrigin) / 1000);
  return {
    contentType: CONTENT_TYPE,
    async render() {
      const { user, system } = process.cpuUsage();
      const { busy, idle } = fleet.connections();
      recorder.add('process_cpu_seconds_total', {}, Math.max(0, (user + system) / 1e6 - cpuSeconds));
      cpuSeconds = (user + system) / 1e6;
      recorder.set('process_resident_memory_bytes', {}, process.memoryUsage().rss);
      recorder.set('modelgateway_sidecar_requests_in_flight', {}, inFlight);
      recorder.set('modelgateway_sidecar_connections', { state: 'busy' }, busy);
      recorder.set('modelgateway_sidecar_connections', { state: 'idle' }, idle);
      recorder.set('modelgateway_sidecar_key_loaded', {}, key.current.header === undefined ? 0 : 1);
      recorder.set('modelgateway_sidecar_key_changes_total', {}, key.changes);
      return recorder.render();
    },
    begun: () => { inFlight++; },
    ended({ result, status, durationMs }) {
      inFlight--;
      recorder.add('modelgateway_sidecar_requests_total', { result, status: status === undefined ? '' : String(status) }, 1);
      duration.observe(durationMs / 1000);
    },
    firstByte: (durationMs) => head.observe(durationMs / 1000),
    retried: () => recorder.add('modelgateway_sidecar_connect_retries_total', {}, 1),
    bytes: (direction, count) => bytes[direction].add(count),
  };
}
