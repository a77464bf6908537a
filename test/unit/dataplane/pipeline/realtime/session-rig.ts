/** A session between a client and a provider that a test plays in memory, with a ledger that grants up to a limit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { compilePrice } from '#price/sheet.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Closed, MessageSocket } from '../../../../../dataplane/message-socket.ts';
import type { CallRecord, PipelineDeps } from '../../../../../dataplane/pipeline/context.ts';
import { RealtimeSession } from '../../../../../dataplane/pipeline/realtime/session.ts';
import type { SessionParts } from '../../../../../dataplane/pipeline/realtime/session.ts';
import type { SessionResponse } from '../../../../../dataplane/telemetry/call-report.ts';
import type { CallProgress } from '#usage/record.ts';

export type Event = Readonly<Record<string, unknown>>;

const ONE_E9 = 10n ** 9n;
const RATIOS = {
  ratioBaseUsdE9: 2n * ONE_E9,
  modelRatioE9: 2n * ONE_E9,
  completionRatioE9: 4n * ONE_E9,
  cacheRatioE9: ONE_E9,
  cacheWriteRatioE9: ONE_E9,
  requestNanoUsd: 0n,
};
/** Nano-USD of a token. */
export const INPUT = 4000n;
export const OUTPUT = 16_000n;

function price(more: object): CompiledPrice {
  return compilePrice({ quotaType: 'Request', ...RATIOS, ...more }, 10n ** 18n);
}

/** The price of a token of every session. */
export const BY_TOKEN = price({ quotaType: 'Token' });
/** Of models that write down audio, or do not. */
const PRICES: Readonly<Record<string, CompiledPrice>> = {
  writer: BY_TOKEN,
  minutes: price({ perMinuteNanoUsd: 6_000_000n }),
  flat: price({ requestNanoUsd: 1_000_000n }),
  characters: price({ perMillionCharactersNanoUsd: 15n * ONE_E9 }),
};

/** One end of a socket, as the session sees it. */
class PlayedSocket implements MessageSocket {
  readonly sent: Event[] = [];
  readonly #waiting: Uint8Array[] = [];
  #wake: () => void = () => undefined;
  /** Whether it takes nothing more. */
  isStalled = false;
  onSend: (event: Event) => void = () => undefined;
  closed: Closed | undefined;

  async *messages(): AsyncIterableIterator<Uint8Array> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message) yield message;
      else if (this.closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  send(message: Uint8Array): Promise<void> {
    const event = JSON.parse(Buffer.from(message).toString('utf8')) as Event;
    this.sent.push(event);
    this.onSend(event);
    return this.isStalled ? new Promise(() => undefined) : Promise.resolve();
  }

  close(): void {
    this.leave(1000);
  }

  /** The test's own end sends events. */
  push(...events: readonly object[]): void {
    for (const event of events) this.#waiting.push(Buffer.from(JSON.stringify(event)));
    this.#wake();
  }

  leave(code: number): void {
    this.closed ??= { code, reason: '', receivedTooBig: code === 1009 };
    this.#wake();
  }

  ofType(type: string): readonly Event[] {
    return this.sent.filter((event) => event['type'] === type);
  }
}

export interface Rig {
  readonly client: PlayedSocket;
  readonly provider: PlayedSocket;
  readonly session: RealtimeSession;
  readonly record: Pick<CallRecord, 'produced'>;
  readonly running: ReturnType<RealtimeSession['run']>;
  /** What was last held. */
  readonly heldNanoUsd: () => bigint;
  readonly progress: () => CallProgress;
  /** What limits of tokens got back, by what was taken. */
  readonly released: readonly Event[];
  /** The responses that telemetry has seen. */
  readonly responded: readonly SessionResponse[];
  readonly defects: readonly unknown[];
  /** Lets this time pass on the gateway's clock. */
  pass(ms: number): void;
  /** Ends both sockets, and resolves once the session has ended. */
  end(): Promise<CallProgress>;
}

export interface RigOptions {
  readonly limitNanoUsd?: bigint;
  readonly maxOutputTokens?: number;
  readonly isLimited?: boolean;
  /** Whether the channel costs the platform what the session's account pays. */
  readonly statesCosts?: boolean;
}

/** Lets what was pushed be read. */
export const settled = (): Promise<void> => sleep(15);

export function openRig({
  limitNanoUsd = 10n ** 15n,
  maxOutputTokens = 4096,
  isLimited = false,
  statesCosts = false,
}: RigOptions = {}): Rig {
  const [client, provider] = [new PlayedSocket(), new PlayedSocket()];
  let [passedMs, heldNanoUsd] = [0, 0n];
  const released: Event[] = [];
  const responded: SessionResponse[] = [];
  const defects: unknown[] = [];
  const limits = [{ scope: 'Key', id: 'k', measure: 'OutputTokens', amount: 10 ** 6 }];
  const key = { uid: 'k', account: 'a', name: 'k', group: 'g', limits: isLimited ? limits : [], models: undefined };
  const offers = new Map(Object.keys(PRICES).map((name) => [name, { endpoints: new Set(['Transcriptions']) }]));
  const state = {
    accounts: new Map([['a', { credit: { scope: 'Account' }, limits: [], spending: [] }]]),
    credentials: new Map([['h', { key }]]),
    groups: new Map([['g', { offers }]]),
  };
  const noFunds = async (): Promise<object> => ({ spentNanoUsd: 0n, heldNanoUsd: 0n });
  const deps = {
    clock: { monotonicMs: () => performance.now() + passedMs, nowMs: () => Date.now() },
    state: { get: () => state, credential: () => ({ key: { ...key, enabled: true } }), generation: 1 },
    telemetry: { responded: (response: SessionResponse) => responded.push(response) },
    defect: (_id: string, error: unknown) => defects.push(error),
    ledger: {
      admit: async ({ amountNanoUsd }: { readonly amountNanoUsd: bigint }): Promise<object> => {
        if (amountNanoUsd > limitNanoUsd)
          return {
            outcome: 'Short',
            limit: { scope: 'Key', window: 'Total', amountNanoUsd: limitNanoUsd },
            spentNanoUsd: 0n,
            availableNanoUsd: 0n,
          };
        heldNanoUsd = amountNanoUsd;
        return { outcome: 'Held', heldNanoUsd };
      },
      take: async () => ({ outcome: 'Taken' }),
      release: (id: string, consumed: object) => released.push({ id, ...consumed }),
      readKey: noFunds,
      readAccount: noFunds,
    },
  };
  const model = {
    name: 'talker',
    contextTokens: 32_000,
    maxOutputTokens,
    imageTokens: 1000,
    acceptsImages: true,
    allow: new Set(),
    endpoints: new Set(['Realtime']),
  };
  const candidate = {
    target: { id: 'c', protocol: 'OpenAI', timeouts: { idleMs: 60_000, wholeMs: 600_000 } },
    group: 'g',
    limits: [],
    model,
    price: BY_TOKEN,
    upstreamModel: 'up',
    allowedFields: [],
    clientDisconnect: 'Cancel',
    cost: statesCosts ? BY_TOKEN : undefined,
    costOf: (name: string) => (statesCosts ? PRICES[name] : undefined),
    priceOf: (name: string) => PRICES[name],
  };
  const received = { requestId: 'req', headers: {}, createdMs: 0 };
  const routed = { received, key, keyHash: 'h', call: { model: 'talker' }, offer: {} };
  const admitted = { candidate, routed, bounds: { price: BY_TOKEN }, heldNanoUsd: 0n };
  const record = { received } as unknown as CallRecord;
  const parts = { record, admitted, client, provider };
  const session = new RealtimeSession(deps as unknown as PipelineDeps, parts as unknown as SessionParts);
  const running = session.run();
  return {
    client,
    provider,
    session,
    record,
    running,
    heldNanoUsd: () => heldNanoUsd,
    progress: () => session.bill.progress,
    released,
    responded,
    defects,
    pass: (ms) => {
      passedMs += ms;
    },
    async end() {
      provider.leave(1000);
      client.leave(1000);
      await running;
      return session.bill.progress;
    },
  };
}

/** The session as a provider describes it, which begins no responses itself. */
export function created(more: object = {}): Event {
  const audio = { input: { turn_detection: null } };
  return { type: 'session.created', session: { type: 'realtime', max_output_tokens: 4096, audio, ...more } };
}

export const begun = (id: string): Event => ({ type: 'response.created', response: { id } });

export function done(id: string, used: object | null | undefined, status = 'completed'): Event {
  return { type: 'response.done', response: { id, status, usage: used } };
}

/** The end of an error about the event of this id. */
export const failure = (eventId: unknown): Event => ({
  type: 'error',
  error: { type: 'invalid_request_error', code: 'no', message: 'no', event_id: eventId },
});
