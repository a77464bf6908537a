/**
 * Collects reports of finished calls and writes them once a second. Calls never wait for it: it drops entries beyond a
 * bound, and loses a batch whose write fails.
 */
import type { Clock, Every } from '../clock.ts';
import type { CallReport } from '../telemetry/call-report.ts';
import { DAY_MS } from '#activity/activity.ts';
import type { ActivityEntry, ActivityWriter, RefusalCount } from '#activity/activity.ts';
import { ChannelMonitor } from './channel-monitor.ts';
import { entryOf } from './entry-of.ts';

interface RecorderOptions {
  readonly writer: ActivityWriter;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly every: Every;
  /** The channel of each call in flight, "route/channel". */
  readonly inFlight: () => Iterable<string>;
  /** Called with the first of several failures in a row. */
  readonly onFault: (error: unknown) => void;
}

export interface ActivityRecorder {
  /** Never throws; it only appends to memory. */
  finished(report: CallReport): void;
  /** Writes the pending entries. Resolves when that has succeeded or failed. */
  close(): Promise<void>;
}

const FLUSH_MS = 1_000;
const FIGURES_EVERY_MS = 5_000;
/** Bounds of one flush. Of a key that calls more often, entries are examples: the store keeps its latest hundred only. */
const MAX_ENTRIES = 500;
const MAX_ENTRIES_PER_KEY = 20;
const MAX_COUNTS = 10_000;

/** Starts to write in the background. The recorder owns the writer and closes it. */
export function createActivityRecorder(options: RecorderOptions): ActivityRecorder {
  return new Recorder(options);
}

class Recorder implements ActivityRecorder {
  readonly #options: RecorderOptions;
  readonly #stops: readonly (() => void)[];
  readonly #monitor = new ChannelMonitor();
  #entries: ActivityEntry[] = [];
  /** The number of entries of each key in the next flush. */
  #perKey = new Map<string, number>();
  #counts = new Map<string, RefusalCount>();
  #writing: Promise<void> | undefined;
  #telling: Promise<void> | undefined;
  /** True if the last figures were empty. */
  #quiet = true;
  #failing = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#stops = [
      options.every(FLUSH_MS, () => this.#flush()),
      options.every(FIGURES_EVERY_MS, () => this.#tellOfChannels()),
    ];
  }

  finished(report: CallReport): void {
    const nowMs = this.#options.clock.nowMs();
    this.#monitor.observe(report.attempts, nowMs);
    const { key, admitted = false } = report;
    // most calls of a busy key end here
    if (!key || (admitted && !this.#hasRoom(key.uid))) return;
    const entry = entryOf(report, nowMs);
    if (!entry) return;
    if (entry.refused) this.#count(entry);
    if (!this.#hasRoom(key.uid)) return;
    this.#perKey.set(key.uid, (this.#perKey.get(key.uid) ?? 0) + 1);
    this.#entries.push(entry);
  }

  #hasRoom(keyUid: string): boolean {
    return this.#entries.length < MAX_ENTRIES && (this.#perKey.get(keyUid) ?? 0) < MAX_ENTRIES_PER_KEY;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#telling;
    await this.#writing;
    this.#flush();
    await this.#writing;
    await this.#options.writer.close();
  }

  #count({ account, keyUid, atMs, errorCode = '' }: ActivityEntry): void {
    const day = Math.floor(atMs / DAY_MS);
    const name = `${day} ${errorCode} ${keyUid}`;
    const known = this.#counts.get(name);
    if (!known && this.#counts.size >= MAX_COUNTS) return;
    this.#counts.set(name, { account, day, keyUid, errorCode, calls: (known?.calls ?? 0) + 1 });
  }

  /** Writes one batch at a time; meanwhile the next batch fills up to its bounds. */
  #flush(): void {
    if (this.#writing || (this.#entries.length === 0 && this.#counts.size === 0)) return;
    const batch = { entries: this.#entries, refusals: [...this.#counts.values()] };
    this.#entries = [];
    this.#perKey = new Map();
    this.#counts = new Map();
    this.#writing = this.#options.writer
      .write(batch)
      .then(
        () => {
          this.#failing = false;
        },
        (error: unknown) => this.#failed(error),
      )
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** Writes the channels' figures; empty ones only once. */
  #tellOfChannels(): void {
    if (this.#telling) return;
    const atMs = this.#options.clock.nowMs();
    const channels = this.#monitor.figures(atMs, this.#options.inFlight());
    const quiet = channels.length === 0;
    if (quiet && this.#quiet) return;
    this.#quiet = quiet;
    this.#telling = this.#options.writer
      .writeChannels({ atMs, channels })
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#telling = undefined;
      });
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#options.onFault(error);
    this.#failing = true;
  }
}
