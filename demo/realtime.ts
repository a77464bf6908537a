/**
 * Sessions of the demo provider over a WebSocket, in the events of OpenAI's realtime API: text in, text out, or text and a
 * beep for each of its tokens. Responses are begun by the client only, and end with their usage.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { answerTo } from './answer.ts';
import type { Answer } from './answer.ts';
import { speech } from './audio.ts';
import { contentText, isObject, textIn } from './prompt.ts';
import type { Json } from './prompt.ts';
import { countTokens } from './tokens.ts';

export interface SessionOptions {
  readonly tokenMs: number;
  /** The pause under the rule "slow". */
  readonly slowTokenMs: number;
}

export interface Sessions {
  /** Upgrades the connection, and serves the session of a model on it. */
  serve(upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }): void;
  stop(): void;
}

const PATH = '/v1/realtime';
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The most tokens of a response, unless the session or the response sets fewer. */
const MAX_OUTPUT_TOKENS = 4_096;
const BYTES_PER_SECOND = 48_000;
const AUDIO_TOKENS_PER_SECOND = 10;
/** The text of a piece, and its beep. */
const TOKENS_PER_SPOKEN_PIECE = 2;
const GOING_AWAY = 1001;
const CLOSING_MS = 500;

/** Whether a request is for a session; others are served as if they asked for no upgrade. */
export function asksForSession({ method, url = '', headers }: IncomingMessage): boolean {
  const isAllowed = !/wrong/i.test(headers.authorization ?? '');
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && pathOf(url) === PATH && isAllowed;
}

export function createSessions(options: SessionOptions): Sessions {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES });
  return {
    serve({ request, socket, head }) {
      const model = new URLSearchParams((request.url ?? '').split('?')[1]).get('model') ?? 'gpt-realtime';
      sockets.handleUpgrade(request, socket, head, (client) => void new Session(client, model, options));
    },
    stop() {
      for (const client of sockets.clients) {
        client.close(GOING_AWAY, 'the demo provider stops');
        setTimeout(() => client.terminate(), CLOSING_MS).unref();
      }
    },
  };
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? '';
}

interface Item {
  readonly id: string;
  readonly role: string;
  readonly text: string;
  readonly audioTokens: number;
}

/** A response that runs. */
interface Running {
  readonly id: string;
  readonly answer: Answer;
  readonly input: { readonly text: number; readonly audio: number };
  readonly isSpoken: boolean;
  readonly leaving: AbortController;
}

class Session {
  readonly #client: WebSocket;
  readonly #options: SessionOptions;
  readonly #items: Item[] = [];
  #settings: Json;
  #audioBytes = 0;
  #count = 0;
  #running: Running | undefined;

  constructor(client: WebSocket, model: string, options: SessionOptions) {
    this.#client = client;
    this.#options = options;
    this.#settings = {
      type: 'realtime',
      object: 'realtime.session',
      id: this.#newId('sess'),
      model,
      instructions: '',
      output_modalities: ['audio'],
      max_output_tokens: MAX_OUTPUT_TOKENS,
      tools: [],
      audio: { input: { format: { type: 'audio/pcm', rate: 24_000 }, turn_detection: null } },
    };
    // 'close' follows
    client.on('error', () => undefined);
    client.on('close', () => this.#running?.leaving.abort());
    client.on('message', (data) => this.#receive(data));
    this.#send('session.created', { session: this.#settings });
  }

  #receive(data: RawData): void {
    let event: unknown;
    try {
      event = JSON.parse(textOf(data));
    } catch {
      return this.#refuse(undefined, 'the event is not JSON');
    }
    if (!isObject(event)) return this.#refuse(undefined, 'an event is a JSON object');
    const serve = this.#events[textIn(event['type'])];
    if (serve) serve(event);
    else this.#refuse(event, `the demo provider has no event ${textIn(event['type'])}`);
  }

  readonly #events: Readonly<Record<string, (event: Json) => void>> = {
    'session.update': ({ session }) => {
      this.#settings = { ...this.#settings, ...(isObject(session) && session) };
      this.#send('session.updated', { session: this.#settings });
    },
    'conversation.item.create': ({ item }) => this.#add(isObject(item) ? item : {}),
    'input_audio_buffer.append': ({ audio }) => {
      this.#audioBytes += Buffer.byteLength(textIn(audio), 'base64');
    },
    'input_audio_buffer.clear': () => {
      this.#audioBytes = 0;
      this.#send('input_audio_buffer.cleared', {});
    },
    'input_audio_buffer.commit': () => {
      const id = this.#newId('item');
      const content = [{ type: 'input_audio', transcript: null }];
      this.#send('input_audio_buffer.committed', { item_id: id, previous_item_id: null });
      this.#add({ id, type: 'message', role: 'user', content }, this.#audioBytes);
      this.#audioBytes = 0;
    },
    'response.create': (event) => this.#begin(event),
    'response.cancel': (event) => {
      if (this.#running) this.#running.leaving.abort();
      else this.#refuse(event, 'there is no response to cancel');
    },
  };

  #add(item: Json, audioBytes = 0): void {
    const id = textIn(item['id']) || this.#newId('item');
    const seconds = audioBytes / BYTES_PER_SECOND;
    const heard = seconds > 0 ? `I sent ${Math.ceil(seconds)} seconds of audio` : contentText(item['content']);
    this.#items.push({
      id,
      role: textIn(item['role']),
      text: heard,
      audioTokens: Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND),
    });
    const whole = { ...item, id, object: 'realtime.item', status: 'completed' };
    for (const type of ['conversation.item.added', 'conversation.item.done'])
      this.#send(type, { item: whole, previous_item_id: null });
  }

  #begin(event: Json): void {
    if (this.#running) return this.#refuse(event, 'another response runs', 'conversation_already_has_active_response');
    const settings: Json = { ...this.#settings, ...(isObject(event['response']) && event['response']) };
    const isSpoken = !listOf(settings['output_modalities']).includes('text');
    const limit = settings['max_output_tokens'];
    const most = typeof limit === 'number' ? limit : MAX_OUTPUT_TOKENS;
    const texts = [textIn(settings['instructions']), ...this.#items.map(({ text }) => text)];
    const answer = answerTo({
      model: textIn(settings['model']),
      stream: true,
      maxTokens: Math.max(1, Math.floor(isSpoken ? most / TOKENS_PER_SPOKEN_PIECE : most)),
      texts: this.#items.map(({ text }) => text),
      lastText: this.#items.findLast(({ role }) => role === 'user')?.text ?? '',
      toolResult: undefined,
      images: 0,
      tools: [],
      toolTexts: [],
      answerSchema: undefined,
      forcedTool: undefined,
    });
    const audio = this.#items.reduce((sum, item) => sum + item.audioTokens, 0);
    const input = { text: countTokens(texts.filter((text) => text !== '')), audio };
    this.#running = { id: this.#newId('resp'), answer, input, isSpoken, leaving: new AbortController() };
    void this.#respond(this.#running);
  }

  /** Never rejects. */
  async #respond(running: Running): Promise<void> {
    const { answer, leaving } = running;
    const { fail, breakOff } = answer.behaviour;
    this.#send('response.created', { response: responseOf(running, 'in_progress') });
    if (fail !== undefined) return this.#end(running, { status: 'failed', said: [] });
    const most = breakOff === undefined ? answer.pieces.length : Math.ceil(answer.pieces.length / 2);
    const said = await this.#say(running, answer.pieces.slice(0, most));
    const cancel = (): void => this.#end(running, { status: 'cancelled', said });
    if (leaving.signal.aborted) return cancel();
    if (breakOff === 'Cut') return this.#client.terminate();
    if (breakOff === 'Stall') return leaving.signal.addEventListener('abort', cancel);
    this.#end(running, { status: answer.truncated ? 'incomplete' : 'completed', said });
  }

  /** Returns the pieces that were sent until the response was cancelled. */
  async #say({ id, answer, isSpoken, leaving }: Running, pieces: readonly string[]): Promise<string[]> {
    const ms = answer.behaviour.slow ? this.#options.slowTokenMs : this.#options.tokenMs;
    const at = { response_id: id, item_id: this.#newId('item'), output_index: 0, content_index: 0 };
    const said: string[] = [];
    for (const delta of pieces) {
      await pause(ms, undefined, { signal: leaving.signal }).catch(() => undefined);
      if (leaving.signal.aborted) break;
      said.push(delta);
      this.#send(`response.output_${isSpoken ? 'audio_transcript' : 'text'}.delta`, { ...at, delta });
      if (isSpoken) this.#send('response.output_audio.delta', { ...at, delta: beep(delta) });
    }
    return said;
  }

  #end(running: Running, { status, said }: { readonly status: string; readonly said: readonly string[] }): void {
    this.#running = undefined;
    const text = said.join('');
    if (said.length > 0) this.#items.push({ id: this.#newId('item'), role: 'assistant', text, audioTokens: 0 });
    this.#send('response.done', { response: { ...responseOf(running, status), ...outcomeOf(running, said) } });
  }

  #refuse(event: Json | undefined, message: string, code = 'invalid_value'): void {
    const error = { type: 'invalid_request_error', code, message, param: null, event_id: event?.['event_id'] ?? null };
    this.#send('error', { error });
  }

  #send(type: string, event: Json): void {
    if (this.#client.readyState !== this.#client.OPEN) return;
    this.#client.send(JSON.stringify({ type, event_id: this.#newId('event'), ...event }));
  }

  #newId(kind: string): string {
    return `${kind}_demo${++this.#count}`;
  }
}

function responseOf({ id, isSpoken }: Running, status: string): Json {
  return { object: 'realtime.response', id, status, output_modalities: [isSpoken ? 'audio' : 'text'], output: [] };
}

function outcomeOf({ answer, input, isSpoken }: Running, said: readonly string[]): Json {
  const { hideUsage, claimedTokens, fail } = answer.behaviour;
  const audio = isSpoken ? said.length : 0;
  const text = claimedTokens ?? said.length;
  const usage = {
    total_tokens: input.text + input.audio + text + audio,
    input_tokens: input.text + input.audio,
    output_tokens: text + audio,
    input_token_details: { text_tokens: input.text, audio_tokens: input.audio, image_tokens: 0, cached_tokens: 0 },
    output_token_details: { text_tokens: text, audio_tokens: audio },
  };
  const content = isSpoken
    ? { type: 'output_audio', transcript: said.join('') }
    : { type: 'output_text', text: said.join('') };
  return {
    output:
      said.length > 0 ? [{ object: 'realtime.item', type: 'message', role: 'assistant', content: [content] }] : [],
    ...(fail !== undefined && { status_details: { type: 'failed', error: { code: String(fail) } } }),
    usage: hideUsage || fail !== undefined ? null : usage,
  };
}

function beep(piece: string): string {
  return speech({ input: piece.trim().slice(0, 1) || ' ', response_format: 'pcm' }).bytes.toString('base64');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString('utf8');
}
