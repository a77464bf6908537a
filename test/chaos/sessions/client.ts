/** A client of a realtime session, which asks for one response at a time and leaves as planned. Never throws. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { SESSION_MODEL, sessionKeyString } from './config.ts';
import type { SessionPlan } from './plan.ts';

export interface SessionLog {
  readonly plan: SessionPlan;
  /** Milliseconds since the epoch. */
  readonly sentMs: number;
  readonly overMs: number;
  /** '' if no response head arrived. */
  readonly id: string;
  /** 101: the session was opened; 0: no response head arrived. */
  readonly status: number;
  /** The numbers of the responses that the client saw begin, and of those that it saw end. */
  readonly begun: readonly number[];
  readonly ended: readonly number[];
  /** The size of all events that the client sent. */
  readonly sentBytes: number;
  /** The codes of errors within the session. */
  readonly errors: readonly string[];
  /** Whether the client ended the session. */
  readonly left: boolean;
  /** 1006: the connection broke off. */
  readonly closeCode: number;
  readonly hung: boolean;
}

interface Event {
  readonly type: string;
  readonly response?: { readonly id: string };
  readonly error?: { readonly code: string | null };
}

/** Longer than a whole session with a gateway that stands still. */
const HANG_MS = 60_000;

export async function talk(url: string, plan: SessionPlan): Promise<SessionLog> {
  return new SessionClient(url, plan).run();
}

class SessionClient {
  readonly #plan: SessionPlan;
  readonly #socket: WebSocket;
  readonly #sentMs = Date.now();
  readonly #closed = Promise.withResolvers<number>();
  readonly #begun: number[] = [];
  readonly #ended: number[] = [];
  readonly #errors: string[] = [];
  #wake: () => void = () => undefined;
  #isOpened = false;
  #sawText = false;
  #isOver = false;
  #id = '';
  #status = 0;
  #sentBytes = 0;
  #left = false;

  constructor(url: string, plan: SessionPlan) {
    this.#plan = plan;
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=${SESSION_MODEL}`, {
      headers: { authorization: `Bearer ${sessionKeyString(plan.key)}` },
      perMessageDeflate: false,
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('upgrade', (response) => this.#head(response));
    this.#socket.on('unexpected-response', (_request, response) => {
      this.#head(response);
      response.destroy();
      this.#over(1006);
    });
    this.#socket.on('message', (data) => this.#receive(JSON.parse((data as Buffer).toString('utf8')) as Event));
    this.#socket.on('close', (code) => this.#over(code));
  }

  async run(): Promise<SessionLog> {
    const hanging = setTimeout(() => this.#over(0), HANG_MS);
    void this.#talk();
    const closeCode = await this.#closed.promise;
    clearTimeout(hanging);
    this.#socket.terminate();
    return {
      plan: this.#plan,
      sentMs: this.#sentMs,
      overMs: Date.now(),
      id: this.#id,
      status: this.#status,
      begun: this.#begun,
      ended: this.#ended,
      sentBytes: this.#sentBytes,
      errors: this.#errors,
      left: this.#left,
      closeCode,
      hung: closeCode === 0,
    };
  }

  async #talk(): Promise<void> {
    const { asks, leaving, n } = this.#plan;
    await this.#until(() => this.#isOpened);
    for (const [k, { textBytes, maxTokens }] of asks.entries()) {
      if (this.#isOver) return;
      const content = [{ type: 'input_text', text: 'x'.repeat(textBytes) }];
      this.#send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
      const limit = maxTokens === undefined ? {} : { max_output_tokens: maxTokens };
      this.#send({ type: 'response.create', response: { metadata: { n: String(n), k: String(k) }, ...limit } });
      if (leaving && k === asks.length - 1) {
        await this.#until(() => this.#mayLeave(leaving.at, k));
        return this.#leave(leaving.how);
      }
      await this.#until(() => this.#ended.includes(k));
    }
    this.#leave('close');
  }

  #mayLeave(at: NonNullable<SessionPlan['leaving']>['at'], k: number): boolean {
    const isBegun = this.#begun.includes(k);
    return at === 'asked' || this.#ended.includes(k) || (isBegun && (at === 'begun' || this.#sawText));
  }

  #leave(how: 'close' | 'break'): void {
    if (this.#isOver) return;
    this.#left = true;
    if (how === 'close') this.#socket.close(1000);
    // what was sent goes first
    else void sleep(5).then(() => this.#socket.terminate());
  }

  #head({ statusCode = 0, headers }: IncomingMessage): void {
    this.#status = statusCode;
    this.#id = headers['x-request-id']?.toString() ?? '';
  }

  #receive({ type, response, error }: Event): void {
    if (this.#left && type !== 'response.done') return;
    const k = Number(response?.id.split('_')[2]);
    if (type === 'session.created') this.#isOpened = true;
    if (type === 'response.created') {
      this.#begun.push(k);
      this.#sawText = false;
    }
    if (type === 'response.output_text.delta') this.#sawText = true;
    if (type === 'response.done') this.#ended.push(k);
    if (type === 'error') this.#errors.push(error?.code ?? '');
    this.#wake();
  }

  #send(event: object): void {
    const text = JSON.stringify(event);
    this.#sentBytes += text.length;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text);
  }

  #over(code: number): void {
    this.#isOver = true;
    this.#closed.resolve(code);
    this.#wake();
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!this.#isOver && !condition())
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}
