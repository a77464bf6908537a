/** Support of the hostile tests: raw connections, which can send what no HTTP client would. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { keyManifest } from '../../support/manifests.ts';

export const BROKE_KEY = 'sk-test-broke-000000000000000000000000000000';

/** A key whose account has no credit. */
export function brokeManifest(): string {
  return `${keyManifest('broke', BROKE_KEY, 'accountRef: {name: broke}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: broke, namespace: team}
spec: {grants: []}
`;
}

export interface RawConnection {
  readonly socket: Socket;
  /** Resolves with the response so far, once it has headers and a complete JSON body. */
  readonly response: Promise<string>;
  write(bytes: string | Uint8Array): void;
}

/** Connects and writes; the caller destroys the socket. */
export async function send(url: string, bytes: string | Uint8Array): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const response = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (isWhole(text)) resolve(text);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => resolve(text));
  });
  socket.write(bytes);
  return { socket, response, write: (more) => void socket.write(more) };
}

function isWhole(text: string): boolean {
  const [head = '', body] = text.split('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return body !== undefined && length !== undefined && body.length >= Number(length);
}

/** The headers of a request; `headers` are whole lines. */
export function requestHead(path: string, headers: readonly string[], version = '1.1'): string {
  return [`POST ${path} HTTP/${version}`, ...headers, '', ''].join('\r\n');
}
