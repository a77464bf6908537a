/** Requests to a test API server, as JSON. */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';

/** The connection to an API server, as startKubeApiserver returns it. */
export interface KubeEndpoint {
  readonly url: string;
  readonly token: string;
  /** The certificate authority, PEM. */
  readonly ca: string;
}

export interface KubeAnswer {
  readonly status: number;
  // The server's JSON: its shape is the caller's affair.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

interface KubeTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

export interface KubeClient {
  /** Sends a request; `path` includes the query. The body is JSON, whatever `contentType` says. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<KubeAnswer>;
  /** The table that `kubectl get` shows for a list or an object. */
  table(path: string): Promise<KubeTable>;
  close(): Promise<void>;
}

/** A client for one API server. */
export function kubeClient(endpoint: KubeEndpoint): KubeClient {
  const dispatcher = new Agent({ connect: { ca: endpoint.ca } });
  const send = async (
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<KubeAnswer> => {
    const authorization = `Bearer ${endpoint.token}`;
    const options = {
      method,
      headers: { authorization, ...headers },
      dispatcher,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const answer = await request(endpoint.url + path, options as Parameters<typeof request>[1]);
    const text = await answer.body.text();
    return { status: answer.statusCode, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  return {
    call: (method, path, body, contentType = 'application/json') =>
      send(method, path, body, { accept: 'application/json', 'content-type': contentType }),
    table: async (path) =>
      (await send('GET', path, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })).body,
    close: () => dispatcher.close(),
  };
}

/** The PEM text of a certificate file that the server writes when it starts. */
export async function readCertificate(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
