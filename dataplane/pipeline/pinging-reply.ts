/**
 * A reply that keeps its stream alive: after a time without a byte it sends a ping, also before the provider has said
 * anything, since load balancers close connections that are silent for a minute. A response of nothing but pings has
 * begun for the client's connection only: another channel can still be tried.
 */
import type { ClientReply, PingOptions } from './context.ts';
import type { GatewayError } from '../errors.ts';

const OK = 200;

export class PingingReply implements ClientReply {
  readonly #reply: ClientReply;
  #options: PingOptions | undefined;
  #timer: NodeJS.Timeout | undefined;
  #begun = false;
  /** The client reads more slowly than it is sent to, and gets no pings on top. */
  #isFull = false;

  constructor(reply: ClientReply) {
    this.#reply = reply;
  }

  /** From now on silence is filled, until the reply ends. */
  keepAlive(options: PingOptions): void {
    this.#options = options;
    this.#timer ??= setTimeout(this.#onSilence, options.afterMs).unref();
  }

  get started(): boolean {
    return this.#reply.started;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }

  get left(): AbortSignal {
    return this.#reply.left;
  }

  /** Sends no more pings. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#options = undefined;
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void {
    this.stop();
    this.#reply.send(status, headers, body);
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    this.#reply.start(status, headers);
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    this.#begun = true;
    this.#timer?.refresh();
    return this.#write(bytes);
  }

  end(last: Uint8Array): void {
    this.stop();
    this.#reply.end(last);
  }

  fail(error: GatewayError): number {
    this.stop();
    return this.#reply.fail(error);
  }

  readonly #onSilence = (): void => {
    if (!this.#options || this.gone) return;
    this.#timer?.refresh();
    if (!this.started) {
      const headers = this.#options.headers();
      if (!headers) return;
      this.#reply.start(OK, headers);
    }
    if (!this.#isFull) void this.#write(this.#options.ping(this.#begun));
  };

  #write(bytes: Uint8Array): Promise<void> | undefined {
    const drained = this.#reply.write(bytes);
    this.#isFull = drained !== undefined;
    void drained?.then(() => {
      this.#isFull = false;
    });
    return drained;
  }
}
