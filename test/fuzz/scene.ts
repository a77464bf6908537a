/**
 * A gateway under attack, and everything that is watched meanwhile: its log, books and connections, and this process.
 * `calm` is the oracle after each batch.
 */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HoldRequest, SettleResult } from '../../dataplane/ledger/ledger.ts';
import { moneyIn } from '../../dataplane/ledger/load.ts';
import { startGateway } from '../support/gateway.ts';
import type { GatewayOptions, TestGateway } from '../support/gateway.ts';
import {
  KEYS,
  PROVIDER_KEYS,
  accountsManifest,
  cancelling,
  keysManifest,
  platformManifest,
} from '../support/manifests.ts';
import { givenMs, patience } from './patience.ts';
import { startRawProvider } from './provider.ts';
import type { ProviderAnswer, ProviderRequest, RawProvider } from './provider.ts';

/** Stands in prompts; no log may show it. */
export const PROMPT_MARK = 'prompt-mark-7c1f';

export interface Scene {
  readonly gateway: TestGateway;
  readonly provider: RawProvider;
  readonly port: number;
  /** Connections of clients that are open now. */
  connections(): number;
  /** Call id → what was held for it last, and what its settlement said. */
  readonly money: ReadonlyMap<string, CallMoney>;
  /** Log lines of finished calls since the last calm. */
  calls(): readonly LoggedCall[];
  /** Throws where anything of the kind that must never happen has happened, or something does not come to rest. */
  calm(): Promise<void>;
  close(): Promise<void>;
}

export interface CallMoney {
  heldNanoUsd: bigint;
  request: HoldRequest;
  settled: SettleResult | undefined;
}

export interface LoggedCall {
  readonly request_id: string;
  readonly endpoint?: string;
  readonly status?: number;
  readonly code?: string;
  readonly attempts?: readonly { readonly channel: string; readonly outcome: string }[];
}

/** The only size of an image that is cheap. */
export const CHEAP_SIZE = '1024x1024';
/** Of an image of the cheap size and of any other, or of a second of a video or of audio. */
type GeneratedPrice =
  { readonly cheapNanoUsd: bigint; readonly otherNanoUsd: bigint } | { readonly secondNanoUsd: bigint };

/** By model. */
export const GENERATED: ReadonlyMap<string, GeneratedPrice> = new Map<string, GeneratedPrice>([
  ['sized-model', { cheapNanoUsd: 1_000_000n, otherNanoUsd: 250_000_000n }],
  ['sketch-model', { cheapNanoUsd: 1_000_000n, otherNanoUsd: 250_000_000n }],
  ['dear-sketch-model', { cheapNanoUsd: 400_000_000n, otherNanoUsd: 400_000_000n }],
  ['film-model', { secondNanoUsd: 10_000_000n }],
  ['dear-film-model', { secondNanoUsd: 400_000_000n }],
  ['ear-model', { secondNanoUsd: 10_000_000n }],
  ['dear-ear-model', { secondNanoUsd: 400_000_000n }],
]);

/** Models of videos, of images with sizes, of images that begin with pictures, and of audio, beside the usual ones. */
export function withVideos(yaml: string): string {
  return yaml
    .replace(
      '  - {name: image-model, endpoints: [Images]}',
      '  - {name: image-model, endpoints: [Images]}\n  - {name: sized-model, endpoints: [Images]}\n' +
        '  - {name: sketch-model, endpoints: [Images], inputs: [Text, Image]}\n' +
        '  - {name: dear-sketch-model, endpoints: [Images], inputs: [Text, Image]}\n' +
        '  - {name: video-model, endpoints: [Videos]}\n  - {name: film-model, endpoints: [Videos]}\n' +
        '  - {name: dear-film-model, endpoints: [Videos]}\n' +
        '  - {name: ear-model, endpoints: [Transcriptions]}\n  - {name: dear-ear-model, endpoints: [Transcriptions]}\n' +
        '  - {name: speech-model, endpoints: [Speech], contextTokens: 100000, maxOutputTokens: 4000}',
    )
    .replace(
      '  - {name: shelf-model,',
      '  - {name: video-model, vendor: BFL, quotaType: Request, requestUsd: "0.04"}\n' +
        `  - {name: sized-model, vendor: BFL, quotaType: Request, perImage: [{size: ${CHEAP_SIZE}, usd: "0.001"}, ` +
        '{usd: "0.25"}]}\n' +
        `  - {name: sketch-model, vendor: BFL, quotaType: Request, perImage: [{size: ${CHEAP_SIZE}, usd: "0.001"}, ` +
        '{usd: "0.25"}]}\n' +
        '  - {name: dear-sketch-model, vendor: BFL, quotaType: Request, requestUsd: "0.4"}\n' +
        '  - {name: film-model, vendor: BFL, quotaType: Request, perSecondUsd: "0.01"}\n' +
        '  - {name: dear-film-model, vendor: BFL, quotaType: Request, perSecondUsd: "0.4"}\n' +
        '  - {name: ear-model, vendor: BFL, quotaType: Request, perMinuteUsd: "0.6"}\n' +
        '  - {name: dear-ear-model, vendor: BFL, quotaType: Request, perMinuteUsd: "24"}\n' +
        '  - {name: speech-model, vendor: BFL, quotaType: Token, usdPerMillion: {input: "1", output: "12"}}\n' +
        '  - {name: shelf-model,',
    );
}

/** Memory that batches may leave behind for a moment; a leak passes it before long. */
const MOST_GROWTH_BYTES = 700 * 1024 * 1024;
/** What its owner allows to cost more than was held: a provider's tools have no bound. */
const UNBOUNDED_MODEL = 'tools-model';
const REST_MS = 10_000;
const ANSWER_MS = 5_000;

interface SceneOptions {
  readonly answer: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>;
  /** Edits the usual manifest of groups, routes and prices. */
  readonly platform?: (yaml: string) => string;
  readonly gateway?: Partial<GatewayOptions>;
}

export async function openScene({
  answer,
  platform = (yaml) => yaml,
  gateway: options = {},
}: SceneOptions): Promise<Scene> {
  const provider = await startRawProvider(answer);
  const urls = { openaiUrl: provider.url, anthropicUrl: provider.url };
  const gateway = await startGateway({
    files: { 'keys.yaml': keysManifest(), 'platform.yaml': platform(cancelling(platformManifest(urls))) },
    // a process that is kept waiting by others has not lost its holds
    monotonicMs: givenMs,
    ...options,
  });
  const port = Number(new URL(gateway.url).port);
  const sockets = watchSockets(port);
  const responses = watchResponses(port);
  const strays = watchStrays();
  const money = watchMoney(gateway);
  const lines = gateway.logs as string[];
  const before = process.memoryUsage.rss();
  let credit = 1000n;

  async function calm(): Promise<void> {
    await rest('calls in flight', () => (idle(gateway) ? undefined : JSON.stringify(gateway.ledger.gauges(), bigints)));
    await rest('client connections', () => (sockets.size === 0 ? undefined : `${sockets.size} open`));
    await rest('answers', () =>
      responses.open[0] === undefined
        ? undefined
        : `${responses.open.length} are open, the first to ${responses.open[0].req.method} ${responses.open[0].req.url}`,
    );
    const answered = await ask(gateway.url);
    if (answered !== undefined) throw new Error(`a normal call: ${answered}`);
    await rest('the normal call', () => (idle(gateway) ? undefined : 'it is not settled'));
    // what is free in memory may still be on its way to the disk
    await rest('settlements', () => unsettled(money));
    const stray = strays.taken[0];
    if (stray !== undefined) throw new Error(`unhandled in this process: ${stray}`);
    if (provider.faults.length > 0)
      throw new Error(`the provider was sent: ${(provider.faults as string[]).splice(0).join(' | ').slice(0, 1000)}`);
    checkLog(lines);
    checkMoney(money);
    const grown = process.memoryUsage.rss() - before;
    if (grown > MOST_GROWTH_BYTES) throw new Error(`memory has grown by ${Math.round(grown / 2 ** 20)} MiB`);
    credit = await refill(gateway, credit);
    money.clear();
    lines.length = 0;
  }

  return {
    gateway,
    provider,
    port,
    money,
    connections: () => sockets.size,
    calls: () => lines.filter((line) => line.includes('"msg":"call"')).map((line) => JSON.parse(line) as LoggedCall),
    calm,
    async close() {
      await provider.stop();
      await gateway.stop();
      sockets.stop();
      responses.stop();
      strays.stop();
    },
  };
}

function idle({ ledger }: TestGateway): boolean {
  const { holds, heldNanoUsd, slots } = ledger.gauges();
  return holds === 0 && heldNanoUsd === 0n && Object.values(slots).every((count) => count === 0);
}

/** Waits until `busy` says nothing any more. */
async function rest(what: string, busy: () => string | undefined): Promise<void> {
  const endMs = givenMs() + REST_MS;
  for (let said = busy(); said !== undefined; said = busy()) {
    if (givenMs() > endMs) throw new Error(`${what} do not come to rest: ${said}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** Undefined: it was answered correctly and quickly. */
async function ask(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/key`, {
      headers: { authorization: `Bearer ${KEYS.main}`, connection: 'close' },
      signal: patience(ANSWER_MS),
    });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  } catch (error) {
    return String(error);
  }
}

const SECRETS = [...Object.values(PROVIDER_KEYS), ...Object.values(KEYS), PROMPT_MARK];

/** Checks that the log shows no defect and no secret. */
function checkLog(lines: readonly string[]): void {
  for (const line of lines) {
    assert.doesNotThrow(() => JSON.parse(line), `the log has a line that is no JSON: ${line.slice(0, 2000)}`);
    if (/"level":(?:50|60)/.test(line)) throw new Error(`the log tells of a defect: ${line.slice(0, 2000)}`);
    const secret = SECRETS.find((each) => line.includes(each));
    if (secret !== undefined) throw new Error(`the log shows a secret: ${line.slice(0, 2000)}`);
  }
}

/** Checks that every hold is settled. */
function unsettled(money: ReadonlyMap<string, CallMoney>): string | undefined {
  for (const [callId, { settled }] of money) if (!settled) return `${callId} is not settled`;
  return undefined;
}

/** Checks that every call is settled once, for no more than was held, and no limit is exceeded. */
function checkMoney(money: ReadonlyMap<string, CallMoney>): void {
  for (const [callId, { settled, request, heldNanoUsd }] of money) {
    if (!settled) continue;
    const { costNanoUsd, tokens } = settled.record;
    if (costNanoUsd > heldNanoUsd && request.origin.model !== UNBOUNDED_MODEL)
      throw new Error(`the call ${callId} held ${heldNanoUsd}, and cost ${costNanoUsd} (${JSON.stringify(tokens)})`);
    const quota = moneyIn(request.limits).find(({ scope }) => scope === 'Key')?.amountNanoUsd ?? null;
    if (quota !== null && settled.keySpentNanoUsd > quota) throw new Error(`the call ${callId} overspent its key`);
    if (costNanoUsd < 0n || settled.record.unbilledNanoUsd < 0n)
      throw new Error(`the call ${callId} has a negative cost`);
  }
}

function watchMoney({ ledger }: TestGateway): Map<string, CallMoney> {
  const money = new Map<string, CallMoney>();
  const admit = ledger.admit.bind(ledger);
  const settle = ledger.settle.bind(ledger);
  ledger.admit = async (request) => {
    const result = await admit(request);
    if (result.outcome === 'Held')
      money.set(request.origin.callId, { heldNanoUsd: result.heldNanoUsd, request, settled: undefined });
    return result;
  };
  ledger.settle = async (settlement) => {
    const result = await settle(settlement);
    const known = money.get(settlement.callId);
    if (known?.settled) throw new Error('settled twice');
    if (known) known.settled = result;
    return result;
  };
  return money;
}

/** A provider that reports what it likes uses any credit up: more is granted before calls are refused for it. */
async function refill(gateway: TestGateway, creditUsd: bigint): Promise<bigint> {
  const { spentNanoUsd } = await gateway.ledger.readAccount('team/team');
  const spentUsd = spentNanoUsd / 1_000_000_000n;
  if (spentUsd > creditUsd) throw new Error('the account was overspent');
  if (spentUsd * 2n < creditUsd) return creditUsd;
  const next = spentUsd * 2n + 1000n;
  await gateway.write(
    'keys.yaml',
    keysManifest().replace(accountsManifest(), accountsManifest().replace('"1000"', `"${next}"`)),
  );
  return next;
}

/** Connections that a server of this process has accepted on this port. */
function watchSockets(port: number): { readonly size: number; stop(): void } {
  const open = new Set<Socket>();
  const accepted = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort !== port) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  subscribe('net.server.socket', accepted);
  return {
    get size() {
      return open.size;
    },
    stop: () => unsubscribe('net.server.socket', accepted),
  };
}

/** Answers that are not over: whoever closes the server waits for them. */
function watchResponses(port: number): { readonly open: readonly ServerResponse[]; stop(): void } {
  const open = new Set<ServerResponse>();
  const started = (message: unknown): void => {
    const { response, socket } = message as { response: ServerResponse; socket: Socket };
    if (socket.localPort !== port) return;
    open.add(response);
    response.once('close', () => open.delete(response));
  };
  subscribe('http.server.request.start', started);
  return {
    get open() {
      return [...open];
    },
    stop: () => unsubscribe('http.server.request.start', started),
  };
}

/** Watches for uncaught errors. */
function watchStrays(): { readonly taken: readonly string[]; stop(): void } {
  const taken: string[] = [];
  const take = (error: unknown): void => {
    taken.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  };
  process.on('unhandledRejection', take);
  process.on('uncaughtException', take);
  return {
    taken,
    stop() {
      process.off('unhandledRejection', take);
      process.off('uncaughtException', take);
    },
  };
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** No answer may hold the provider's credential or address. */
export function leakIn(bytes: Buffer, provider: RawProvider): string | undefined {
  const text = bytes.toString('latin1');
  return [...Object.values(PROVIDER_KEYS), provider.url, new URL(provider.url).host].find((secret) =>
    text.includes(secret),
  );
}
