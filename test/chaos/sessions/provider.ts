/** A provider of realtime sessions, which outlives the gateways. It logs what it has sent of each response. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { startSocketServer, usage } from '../../support/realtime-provider.ts';
import type { Event } from '../../support/realtime-provider.ts';
import { responseFate, transcriptionFate } from './plan.ts';
import type { ResponseFate, TranscriptionFate } from './plan.ts';

/** A response that the provider has begun: what it has sent, which may not have arrived. */
export interface ProvidedResponse {
  readonly n: number;
  readonly k: number;
  readonly fate: ResponseFate;
  textBytes: number;
  /** What its end says; undefined: it has not ended. */
  end: 'Usage' | 'NoUsage' | 'Failed' | undefined;
}

/** A piece of audio that the provider has committed. */
export interface ProvidedTranscription {
  readonly n: number;
  readonly j: number;
  readonly fate: TranscriptionFate;
  /** The length of the audio, in whole seconds. */
  readonly audioSeconds: number;
  /** Whether its end was sent. */
  isEnded: boolean;
}

export interface SessionProvider {
  readonly url: string;
  /** Starts a round, with its fates and an empty log. */
  startRound(seed: number, round: number): void;
  /** The responses of the round so far. */
  readonly log: readonly ProvidedResponse[];
  /** The pieces of audio of the round so far. */
  readonly transcriptions: readonly ProvidedTranscription[];
  stop(): Promise<void>;
}

const SESSION = {
  type: 'realtime',
  object: 'realtime.session',
  id: 'sess_1',
  max_output_tokens: 900,
  instructions: '',
  audio: { input: { turn_detection: null } },
};

export async function startSessionProvider(): Promise<SessionProvider> {
  let log: ProvidedResponse[] = [];
  let transcriptions: ProvidedTranscription[] = [];
  let [seed, round] = [0, 0];
  const { url, stop } = await startSocketServer(({ accept }) =>
    accept((client) => {
      const session = new ProvidedSession(client, {
        fateOf: (place) => responseFate(seed, round, place),
        begun: (response) => log.push(response),
        transcriptionFateOf: (place) => transcriptionFate(seed, round, place),
        committed: (transcription) => transcriptions.push(transcription),
      });
      session.open();
    }),
  );
  return {
    url,
    startRound(newSeed, newRound) {
      [seed, round] = [newSeed, newRound];
      log = [];
      transcriptions = [];
    },
    get log() {
      return log;
    },
    get transcriptions() {
      return transcriptions;
    },
    stop,
  };
}

interface Round {
  readonly fateOf: (place: { readonly n: number; readonly k: number }) => ResponseFate;
  readonly begun: (response: ProvidedResponse) => void;
  readonly transcriptionFateOf: (place: { readonly n: number; readonly j: number }) => TranscriptionFate;
  readonly committed: (transcription: ProvidedTranscription) => void;
}

const BYTES_PER_SECOND = 8_000;

class ProvidedSession {
  readonly #socket: WebSocket;
  readonly #round: Round;
  /** By their ids. */
  readonly #running = new Map<string, ProvidedResponse>();
  /** The session's number, from the prompt for its transcriptions. */
  #n = 0;
  #commits = 0;
  #audioBytes = 0;

  constructor(socket: WebSocket, round: Round) {
    this.#socket = socket;
    this.#round = round;
  }

  open(): void {
    this.#socket.on('error', () => undefined);
    this.#socket.on('message', (data) => this.#receive(JSON.parse((data as Buffer).toString('utf8')) as Event));
    this.#send({ type: 'session.created', session: SESSION });
  }

  #receive(event: Event): void {
    if (event.type === 'session.update') this.#update(event);
    if (event.type === 'input_audio_buffer.append')
      this.#audioBytes += Buffer.byteLength(String(event['audio']), 'base64');
    if (event.type === 'input_audio_buffer.commit') void this.#transcribe();
    if (event.type === 'response.create') void this.#respond(event);
    if (event.type === 'response.cancel') this.#cancel(String(event['response_id']));
  }

  #update(event: Event): void {
    const { audio } = event['session'] as { readonly audio: { readonly input: { transcription: { prompt: string } } } };
    this.#n = Number(audio.input.transcription.prompt);
    this.#send({
      type: 'session.updated',
      session: { ...SESSION, audio: { input: { ...SESSION.audio.input, ...audio.input } } },
    });
  }

  async #transcribe(): Promise<void> {
    const place = { n: this.#n, j: this.#commits++ };
    const fate = this.#round.transcriptionFateOf(place);
    const audioSeconds = Math.ceil(this.#audioBytes / BYTES_PER_SECOND);
    const transcription = { ...place, fate, audioSeconds, isEnded: false };
    this.#audioBytes = 0;
    this.#round.committed(transcription);
    const item = { item_id: `item_${place.n}_${place.j}`, content_index: 0 };
    this.#send({ type: 'input_audio_buffer.committed', item_id: item.item_id });
    await sleep(fate.delayMs);
    for (const delta of fate.pieces)
      this.#send({ type: 'conversation.item.input_audio_transcription.delta', ...item, delta });
    if (!this.#isOpen) return;
    transcription.isEnded = true;
    if (fate.end === 'Failed')
      this.#send({ type: 'conversation.item.input_audio_transcription.failed', ...item, error: { message: 'no' } });
    else {
      const used = fate.end === 'Usage' ? { usage: { type: 'duration', seconds: fate.seconds } } : {};
      const transcript = fate.pieces.join('');
      this.#send({ type: 'conversation.item.input_audio_transcription.completed', ...item, transcript, ...used });
    }
  }

  async #respond(event: Event): Promise<void> {
    const { metadata } = event['response'] as { readonly metadata: { readonly n: string; readonly k: string } };
    const [n, k] = [Number(metadata.n), Number(metadata.k)];
    const fate = this.#round.fateOf({ n, k });
    const id = `resp_${n}_${k}`;
    await sleep(fate.beginMs);
    if (!this.#isOpen) return;
    const response: ProvidedResponse = { n, k, fate, textBytes: 0, end: undefined };
    this.#running.set(id, response);
    this.#round.begun(response);
    this.#send({ type: 'response.created', response: { id, status: 'in_progress' } });
    for (const delta of fate.pieces) {
      if (fate.pieceMs > 0) await sleep(fate.pieceMs);
      if (!this.#isOpen || !this.#running.has(id)) return;
      response.textBytes += delta.length;
      this.#send({ type: 'response.output_text.delta', response_id: id, delta });
    }
    if (!this.#isOpen || !this.#running.has(id)) return;
    if (fate.end === 'Cut') this.#socket.terminate();
    else if (fate.end === 'Orderly') this.#socket.close(1001, 'the session has expired');
    else this.#end(id, fate.end, fate.end === 'Failed' ? 'failed' : 'completed');
  }

  #cancel(id: string): void {
    if (this.#running.get(id)?.fate.heedsCancel === true) this.#end(id, 'Usage', 'cancelled');
  }

  #end(id: string, end: NonNullable<ProvidedResponse['end']>, status: string): void {
    const response = this.#running.get(id);
    if (!response) return;
    this.#running.delete(id);
    response.end = end;
    const { input, cached, output } = response.fate;
    const details = {
      input_token_details: { text_tokens: input, audio_tokens: 0, image_tokens: 0, cached_tokens: cached },
    };
    const used = end === 'Usage' ? { usage: usage(input, output, details) } : {};
    this.#send({ type: 'response.done', response: { id, status, ...used } });
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #send(event: object): void {
    if (this.#isOpen) this.#socket.send(JSON.stringify({ event_id: 'event_1', ...event }));
  }
}
