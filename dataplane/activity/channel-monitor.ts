/** [P] Counts what happened on each channel in the last five minutes, in steps of ten seconds. */
import { isSent } from '../telemetry/call-report.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { LATENCY_CLASSES_MS } from '#activity/activity.ts';
import type { ChannelStats } from '#activity/activity.ts';

const STEP_MS = 10_000;
const STEPS = 30;
/** Outcomes that are neither successes nor the provider's failures: the client left, or its request was invalid. */
const NEITHER: ReadonlySet<string> = new Set(['aborted', 'status_400', 'status_413', 'status_422']);

interface Counts {
  attempts: number;
  failed: number;
  skipped: number;
  readonly latency: number[];
}

interface Step {
  readonly startMs: number;
  readonly channels: Map<string, Counts>;
}

export class ChannelMonitor {
  /** Oldest first. */
  #steps: Step[] = [];
  readonly #failures = new Map<string, NonNullable<ChannelStats['lastFailure']>>();

  observe(attempts: readonly AttemptReport[], nowMs: number): void {
    for (const { channel, outcome, durationMs } of attempts) {
      const counts = this.#countsOf(channel, nowMs);
      if (!isSent({ outcome })) counts.skipped++;
      else {
        counts.attempts++;
        const index = LATENCY_CLASSES_MS.findIndex((end) => durationMs <= end);
        const at = index < 0 ? LATENCY_CLASSES_MS.length : index;
        counts.latency[at] = (counts.latency[at] ?? 0) + 1;
        if (outcome === 'ok' || NEITHER.has(outcome)) continue;
        counts.failed++;
        this.#failures.set(channel, { atMs: nowMs, outcome });
      }
    }
  }

  /** Returns the figures of every channel that had calls in the last five minutes or has one in flight. */
  figures(nowMs: number, inFlight: Iterable<string>): ChannelStats[] {
    this.#dropOld(nowMs);
    const sums = new Map<string, Counts & { inFlight: number }>();
    const sumOf = (channel: string): Counts & { inFlight: number } => {
      const known = sums.get(channel) ?? { ...emptyCounts(), inFlight: 0 };
      sums.set(channel, known);
      return known;
    };
    for (const channel of inFlight) sumOf(channel).inFlight++;
    for (const { channels } of this.#steps) for (const [channel, counts] of channels) addTo(sumOf(channel), counts);
    return [...sums].map(([channel, counts]) => ({ channel, ...counts, lastFailure: this.#failures.get(channel) }));
  }

  #countsOf(channel: string, nowMs: number): Counts {
    const startMs = Math.floor(nowMs / STEP_MS) * STEP_MS;
    let step = this.#steps.at(-1);
    if (step?.startMs !== startMs) {
      this.#dropOld(nowMs);
      step = { startMs, channels: new Map() };
      this.#steps.push(step);
    }
    const known = step.channels.get(channel) ?? emptyCounts();
    step.channels.set(channel, known);
    return known;
  }

  #dropOld(nowMs: number): void {
    this.#steps = this.#steps.filter(({ startMs }) => startMs > nowMs - STEPS * STEP_MS);
    const known = new Set(this.#steps.flatMap(({ channels }) => [...channels.keys()]));
    for (const channel of this.#failures.keys()) if (!known.has(channel)) this.#failures.delete(channel);
  }
}

function emptyCounts(): Counts {
  return { attempts: 0, failed: 0, skipped: 0, latency: LATENCY_CLASSES_MS.map(() => 0).concat(0) };
}

function addTo(sum: Counts, counts: Counts): void {
  sum.attempts += counts.attempts;
  sum.failed += counts.failed;
  sum.skipped += counts.skipped;
  for (const [at, count] of counts.latency.entries()) sum.latency[at] = (sum.latency[at] ?? 0) + count;
}
