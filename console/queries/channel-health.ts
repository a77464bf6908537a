/** [P] The health of each channel, summed from the proxies' reports of the last five minutes. */
import type { ModelRoute } from '#crds/types.gen.ts';
import { formatDuration } from '#web/format.ts';
import { LATENCY_CLASSES_MS } from '#activity/activity.ts';
import type { ChannelStats, ProxyStats } from '#activity/activity.ts';
import type { StatusMark } from './status.ts';

type Channel = ModelRoute['spec']['channels'][number];

/** Missing: there is no store of recent calls here. Unavailable: it does not answer. */
export type Reports = readonly ProxyStats[] | 'Missing' | 'Unavailable';

export interface ChannelHealth {
  readonly route: string;
  readonly channel: Channel;
  readonly state: StatusMark;
  readonly drained: boolean;
  /** undefined: unknown. */
  readonly figures: ChannelSums | undefined;
}

/** Summed over all proxies. */
export interface ChannelSums extends Pick<ChannelStats, 'inFlight' | 'attempts' | 'failed' | 'skipped'> {
  readonly latency: readonly number[];
  readonly lastFailure: ChannelStats['lastFailure'];
}

const NO_CALLS: ChannelSums = { inFlight: 0, attempts: 0, failed: 0, skipped: 0, latency: [], lastFailure: undefined };
/** With fewer attempts, a failing channel cannot be told from a single bad call. */
const ENOUGH_ATTEMPTS = 5;

/** The health of every channel, in the order of the routes. */
export function channelHealth(routes: readonly ModelRoute[], reports: Reports): ChannelHealth[] {
  const sums = typeof reports === 'string' ? undefined : sumsOf(reports);
  return routes.flatMap(({ metadata, spec }) =>
    spec.channels.map((channel) => {
      const drained = spec.drainedChannels?.includes(channel.name) ?? false;
      const figures = sums && (sums.get(`${metadata.name}/${channel.name}`) ?? NO_CALLS);
      return { route: metadata.name, channel, drained, figures, state: stateOf(drained, figures) };
    }),
  );
}

function sumsOf(reports: readonly ProxyStats[]): Map<string, ChannelSums> {
  const sums = new Map<string, ChannelSums>();
  for (const figures of reports.flatMap(({ channels }) => channels))
    sums.set(figures.channel, add(sums.get(figures.channel) ?? NO_CALLS, figures));
  return sums;
}

function add(sum: ChannelSums, figures: ChannelStats): ChannelSums {
  return {
    inFlight: sum.inFlight + figures.inFlight,
    attempts: sum.attempts + figures.attempts,
    failed: sum.failed + figures.failed,
    skipped: sum.skipped + figures.skipped,
    latency: figures.latency.map((count, at) => count + (sum.latency[at] ?? 0)),
    lastFailure: later(sum.lastFailure, figures.lastFailure),
  };
}

function later(a: ChannelSums['lastFailure'], b: ChannelSums['lastFailure']): ChannelSums['lastFailure'] {
  return (a?.atMs ?? 0) > (b?.atMs ?? 0) ? a : b;
}

function stateOf(drained: boolean, figures: ChannelSums | undefined): StatusMark {
  if (drained) return drainedState(figures);
  if (!figures) return { label: 'Unknown', tone: 'info', message: '' };
  const { attempts, failed, inFlight } = figures;
  if (attempts >= ENOUGH_ATTEMPTS && failed * 2 >= attempts) return { label: 'Failing', tone: 'bad', message: '' };
  if (failed > 0) return { label: 'Some calls fail', tone: 'warn', message: '' };
  if (attempts > 0 || inFlight > 0) return { label: 'Serving', tone: 'good', message: '' };
  return { label: 'No calls', tone: 'quiet', message: '' };
}

function drainedState(figures: ChannelSums | undefined): StatusMark {
  return (figures?.inFlight ?? 0) > 0
    ? { label: 'Draining', tone: 'info', message: '' }
    : { label: 'Drained', tone: 'quiet', message: '' };
}

/** "12 %", "0.4 %"; undefined: there was no call. */
export function errorRate({ attempts, failed }: ChannelSums): string | undefined {
  if (attempts === 0) return undefined;
  const percent = (failed * 100) / attempts;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent).toString()} %`;
}

/** The time within which this share of the answers began: "≤ 1.5 s"; undefined: there was no call. */
export function latencyAt({ latency }: ChannelSums, share: number): string | undefined {
  const all = latency.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  let seen = 0;
  const at = latency.findIndex((count) => (seen += count) >= all * share);
  const end = LATENCY_CLASSES_MS[at];
  return end === undefined ? `> ${formatDuration(LATENCY_CLASSES_MS.at(-1) ?? 0)}` : `≤ ${formatDuration(end)}`;
}

const WORDS: Readonly<Record<string, string>> = {
  connect: 'no connection',
  reset: 'connection reset',
  cut: 'answer broke off',
  idle: 'answer stopped coming',
};

/** "HTTP 529", "timeout", "no connection" */
export function failureText(outcome: string): string {
  const [, status] = /^status_(\d{3})$/.exec(outcome) ?? [];
  return status === undefined ? (WORDS[outcome] ?? outcome) : `HTTP ${status}`;
}
