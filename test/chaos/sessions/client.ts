/** A client of a realtime session, which asks for one response at a time and leaves as planned. Never throws. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { SESSION_MODEL, sessionKeyString, TRANSCRIBER } from './config.ts';
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
  /** The numbers of the pieces of audio that the client saw committed, and of those that it saw transcribed, or failed. */
  readonly committed: readonly number[];
  readonly transcribed: readonly number[];
  /** The size of all events that the client sent, without audio. */
  readonly sentBytes: number;
  /** The codes of errors within the session. */
  readonly errors: readonly string[];
  /** Whether the client ended the session. */
  readonly left: boolean;
  /** 1006: the connection broke off. */
  readonly closeCode: number;
  readonly hung: boolean;
}

/** 8 kHz at a byte per sample, rounded down to a multiple of 3 so that base64 has no padding. */
const BYTES_PER_SECOND = 7_998;

interface Event {
  readonly type: string;
  readonly item_id?: string;
  readonly response?: { readonly id: string };
  readonly error?: { readonly code: string | null };
}

/** Longer than any session takes, even at a gateway that is suspended for a while. */
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
  readonly #committed: number[] = [];
  readonly #transcribed: number[] = [];
  readonly #errors: string[] = [];
  #wake: () => void = () => undefined;
  #isOpened = false;
  #isUpdated = false;
  #said = 0;
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
      committed: this.#committed,
      transcribed: this.#transcribed,
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
    if (asks.some(({ audioSeconds }) => audioSeconds > 0)) await this.#askForTranscriptions(n);
    for (const [k, { audioSeconds, textBytes, maxTokens }] of asks.entries()) {
      if (this.#isOver) return;
      if (audioSeconds > 0) this.#say(audioSeconds);
      const content = [{ type: 'input_text', text: 'x'.repeat(textBytes) }];
      this.#send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
      const limit = maxTokens === undefined ? {} : { max_output_tokens: maxTokens };
      this.#send({ type: 'response.create', response: { metadata: { n: String(n), k: String(k) }, ...limit } });
      if (leaving && k === asks.length - 1) {
        await this.#until(() => this.#mayLeave(leaving.at, k));
        return this.#leave(leaving.how);
      }
      await this.#until(() => this.#ended.includes(k) && this.#transcribed.length === this.#said);
    }
    this.#leave('close');
  }

  /** The prompt tells the provider which session this is. */
  async #askForTranscriptions(n: number): Promise<void> {
    const transcription = { model: TRANSCRIBER, prompt: String(n) };
    const input = { format: { type: 'audio/pcmu' }, transcription };
    this.#send({ type: 'session.update', session: { type: 'realtime', audio: { input } } });
    await this.#until(() => this.#isUpdated);
  }

  #say(seconds: number): void {
    this.#said++;
    const audio = Buffer.alloc(seconds * BYTES_PER_SECOND).toString('base64');
    this.#send({ type: 'input_audio_buffer.append', audio });
    this.#sentBytes -= audio.length;
    this.#send({ type: 'input_audio_buffer.commit' });
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

  #receive({ type, response, item_id: item, error }: Event): void {
    if (this.#left && type !== 'response.done') return;
    const k = Number(response?.id.split('_')[2]);
    const j = Number(item?.split('_')[2]);
    if (type === 'session.created') this.#isOpened = true;
    if (type === 'session.updated') this.#isUpdated = true;
    if (type === 'input_audio_buffer.committed') this.#committed.push(j);
    if (/transcription\.(?:completed|failed)$/.test(type)) this.#transcribed.push(j);
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
