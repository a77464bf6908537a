/**
 * The mock provider in a process of its own, which outlives every gateway. It logs the requests, what it really sent,
 * the figures that it reported, and how each exchange ended.
 */
import { startMockProvider } from '../support/mock-provider.ts';
import type { RecordedRequest, Reply } from '../support/mock-provider.ts';
import { json } from '../support/provider-answers.ts';
import { CHANNELS } from './config.ts';
import type { ChannelName } from './config.ts';
import { fateOf, replyOf } from './fate.ts';
import type { Asked, Fate } from './fate.ts';
import { callIn, PROMPT_MARK } from './plan.ts';

/** A request that reached the provider whole. */
export interface Attempt {
  readonly asked: Asked;
  readonly fate: Fate;
  /** Milliseconds since the epoch. */
  readonly arrivedMs: number;
  /** When its last step began; undefined: the gateway was gone before. */
  readonly markedMs: number | undefined;
  readonly overMs: number | undefined;
  /** Pieces of text and bytes that were sent. */
  readonly produced: RecordedRequest['produced'];
  /** The gateway broke it off. */
  readonly gone: boolean;
}

export type Order =
  | { readonly kind: 'round'; readonly seed: number; readonly round: number }
  | { readonly kind: 'log' }
  | { readonly kind: 'stop' };
export type Report =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'cleared' }
  | {
      readonly kind: 'log';
      readonly attempts: readonly Attempt[];
      readonly inFlight: number;
      readonly strange: readonly string[];
    };

interface Entry {
  readonly request: RecordedRequest;
  readonly asked: Asked;
  readonly fate: Fate;
  readonly arrivedMs: number;
  markedMs: number | undefined;
  overMs: number | undefined;
}

const provider = await startMockProvider();
let entries: Entry[] = [];
let strange: string[] = [];

function startRound(seed: number, round: number): void {
  provider.clear();
  entries = [];
  strange = [];
  provider.script((request): Reply => {
    // gateways ask how a video ends, also in a later round
    const video = /\/videos\/([^/]+)$/.exec(request.path)?.[1];
    if (request.method === 'GET' && video !== undefined)
      return json({ id: video, object: 'video', status: 'completed' });
    const asked = readRequest(request);
    if (!asked) {
      strange.push(`${request.method} ${request.path}`);
      return { status: 500, steps: [] };
    }
    const fate = fateOf(seed, round, asked);
    const entry: Entry = { request, asked, fate, arrivedMs: Date.now(), markedMs: undefined, overMs: undefined };
    entries.push(entry);
    void request.over.then(() => {
      entry.overMs = Date.now();
    });
    return replyOf(fate, asked, () => {
      entry.markedMs = Date.now();
    });
  });
}

const KINDS = [
  ['/embeddings', 'embeddings'],
  ['/images/generations', 'images'],
  ['/images/edits', 'images'],
  ['/videos', 'videos'],
  ['/audio/speech', 'speech'],
] as const;

/** Undefined: no client of this round can have caused the request. */
function readRequest(request: RecordedRequest): Asked | undefined {
  const text = request.body.toString();
  const n = callIn(text);
  const channel = channelOf(request.path);
  if (n === undefined || !channel || !text.includes(PROMPT_MARK)) return undefined;
  const body = request.json();
  return {
    n,
    channel,
    protocol: CHANNELS[channel].protocol,
    stream: body['stream'] === true,
    bodyBytes: text.length,
    kind: KINDS.find(([end]) => request.path.endsWith(end))?.[1] ?? 'chat',
    limit: [body['max_completion_tokens'], body['max_tokens']].find((limit) => typeof limit === 'number'),
    answers: Number(body['n'] ?? 1),
    searches: searchesIn(body['tools']),
    media: mediaIn(text),
    look: { size: lookIn(body['size']), quality: lookIn(body['quality']) },
    seconds: Number(body['seconds'] ?? 0),
  };
}

function mediaIn(text: string): Asked['media'] {
  const isWithImage = text.includes('"image_url"') || text.includes('"type":"image"');
  return new Set([
    ...(isWithImage ? ['imageInput' as const] : []),
    ...(text.includes('"input_audio"') ? ['audioInput' as const] : []),
    ...(text.includes('"modalities"') ? ['audioOutput' as const] : []),
  ]);
}

function lookIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== 'auto' ? value : undefined;
}

function searchesIn(tools: unknown): number {
  const most = Array.isArray(tools) ? tools.map((tool: { readonly max_uses?: number }) => tool.max_uses ?? 0) : [];
  return Math.max(0, ...most);
}

function channelOf(path: string): ChannelName | undefined {
  const name = path.split('/')[1]?.replace('-', '/');
  return (Object.keys(CHANNELS) as ChannelName[]).find((channel) => channel === name);
}

function logOf({ request, ...entry }: Entry): Attempt {
  return { ...entry, produced: { ...request.produced }, gone: request.clientGone };
}

function send(report: Report): void {
  process.send?.(report);
}

function obey(order: Order): void {
  switch (order.kind) {
    case 'round':
      startRound(order.seed, order.round);
      send({ kind: 'cleared' });
      return;
    case 'log':
      send({ kind: 'log', attempts: entries.map(logOf), inFlight: provider.inFlight, strange });
      return;
    case 'stop':
      void provider.stop().then(() => process.disconnect?.());
  }
}
process.on('message', obey);
// the parent process is gone
process.on('disconnect', () => {
  process.exit();
});
send({ kind: 'ready', url: provider.url });
