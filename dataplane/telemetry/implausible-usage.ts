/**
 * Warns of channels whose providers report more than calls allow more than now and then, so that the ModelRoute's owner
 * learns of it: such calls are billed up to what was allowed, and the platform pays the difference.
 */
import type { Clock } from '../clock.ts';
import type { CallReport, CallTelemetry } from './call-report.ts';

/** The status of a warning about usage: the provider answers, and reports what it cannot have used. */
export const IMPLAUSIBLE_STATUS = 200;
/** So many calls within the window are more than now and then. */
const MIN_CALLS = 5;
const WINDOW_MS = 600_000;

/** A channel, with IMPLAUSIBLE_STATUS. */
export interface UsageWarning {
  readonly route: string;
  readonly channel: string;
  readonly status: number;
}

export interface ImplausibleUsageOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly warn: (warning: UsageWarning) => void;
}

/** The same telemetry, which also counts such calls by channel. */
export function watchImplausibleUsage(
  telemetry: CallTelemetry,
  { clock, warn }: ImplausibleUsageOptions,
): CallTelemetry {
  /** When each channel's latest such calls ended, the oldest first. Channels are those that served calls. */
  const ended = new Map<string, number[]>();
  function see({ billing }: Partial<Pick<CallReport, 'billing'>>): void {
    if (billing?.usageSource !== 'Implausible') return;
    const { channel: id } = billing;
    const nowMs = clock.monotonicMs();
    const recent = [...(ended.get(id) ?? []).filter((ms) => nowMs - ms < WINDOW_MS), nowMs].slice(-MIN_CALLS);
    ended.set(id, recent);
    if (recent.length < MIN_CALLS) return;
    // another such call starts the next count
    ended.delete(id);
    const slash = id.indexOf('/');
    warn({ route: id.slice(0, slash), channel: id.slice(slash + 1), status: IMPLAUSIBLE_STATUS });
  }
  return {
    ...telemetry,
    finished(report) {
      telemetry.finished(report);
      see(report);
    },
    jobEnded(end) {
      telemetry.jobEnded(end);
      see(end);
    },
    billedLate(late) {
      telemetry.billedLate(late);
      see(late);
    },
  };
}
