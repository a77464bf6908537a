/** The response to a request for an upgrade that is refused: written on its socket, because Node has given it away. */
import type { Duplex } from 'node:stream';
import type { GatewayError } from '../errors.ts';
import type { ClientReply } from '../pipeline/context.ts';
import { sendLastResponse } from './last-response.ts';
import { errorReply } from './reply-error.ts';

/** Nothing is ever started: a session begins with its upgrade, after which there are no more replies. */
export class UpgradeReply implements ClientReply {
  readonly started = false;
  readonly left: AbortSignal;
  readonly #socket: Duplex;
  readonly #requestId: string;

  constructor(socket: Duplex, { requestId }: { readonly requestId: string }) {
    const leaving = new AbortController();
    this.left = leaving.signal;
    this.#socket = socket;
    this.#requestId = requestId;
    // 'close' follows
    socket.on('error', () => undefined);
    socket.once('close', () => leaving.abort());
  }

  get gone(): boolean {
    return this.#socket.destroyed;
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void {
    if (!this.gone) sendLastResponse(this.#socket, { status, headers, body });
  }

  fail(error: GatewayError): number {
    const { status, headers, body } = errorReply(error, 'OpenAI', this.#requestId);
    this.send(status, headers, body);
    return status;
  }

  start(): void {
    // a session has no other response
  }

  write(): undefined {
    return undefined;
  }

  end(): void {
    this.#socket.destroy();
  }
}
