/** A console without a cluster or a folder: two people, identified by their tokens, and pages of the tests. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { AccessError } from '../../../console/access/access.ts';
import type { ConsoleAccess, PersonAccess } from '../../../console/access/access.ts';
import type { Assets } from '../../../console/assets.ts';
import type { ConsoleRoute } from '../../../console/route.ts';
import { buildConsole } from '../../../console/server.ts';
import type { ConsoleOptions } from '../../../console/server.ts';
import { TRANSLATOR } from '../../../operator/translate/translator.ts';
import { buildResources } from '#objects/resources.ts';
import { pageMarkup } from '../../support/page-markup.ts';

export const HOST = 'localhost:8081';
export const ORIGIN = `http://${HOST}`;
export const ALICE = 'token-of-alice';
export const BOB = 'token-of-bob';

/** A person without any rights. */
export function somebody(name: string): PersonAccess {
  return {
    person: { name },
    list: async () => ({ objects: [], allowed: false }),
    get: async () => undefined,
    create: async () => {
      throw new AccessError('Forbidden', 'not here');
    },
    change: async () => {
      throw new AccessError('Forbidden', 'not here');
    },
    remove: async () => {
      throw new AccessError('Forbidden', 'not here');
    },
    readKeyText: async () => undefined,
    may: async () => false,
    namespaces: async () => [],
  };
}

const NO_ASSETS: Assets = { href: (file) => `/assets/${file}`, find: () => undefined };

export interface Stand {
  readonly app: FastifyInstance;
  readonly logged: { readonly level: string; readonly fields: unknown; readonly message: string }[];
  /** The tokens that were checked, in order. */
  readonly asked: string[];
  readonly clock: { nowMs: number };
}

export interface StandOptions extends Partial<Omit<ConsoleOptions, 'log' | 'nowMs'>> {
  readonly routes?: readonly ConsoleRoute[];
}

/** A console that does not listen; requests are injected. */
export function stand(options: StandOptions = {}): Stand {
  const logged: Stand['logged'] = [];
  const asked: string[] = [];
  const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
  const note =
    (level: string) =>
    (fields: unknown, message?: string): void => {
      logged.push({ level, fields, message: message ?? '' });
    };
  const people = new Map([
    [ALICE, somebody('alice')],
    [BOB, somebody('bob')],
  ]);
  const access: ConsoleAccess = {
    backend: 'Kubernetes',
    async signIn({ token }) {
      asked.push(token);
      return people.get(token);
    },
  };
  const app = buildConsole({
    access,
    usage: undefined,
    translator: TRANSLATOR,
    resources: () =>
      buildResources({
        objects: [],
        secrets: [],
        namespaces: new Map(),
      }),
    gatewayNamespace: 'model-gateway',
    gatewayUrl: undefined,
    assets: NO_ASSETS,
    sealingKeys: [randomBytes(32)],
    ...options,
    nowMs: () => clock.nowMs,
    log: { info: note('info'), warn: note('warn'), error: note('error') },
  });
  return { app, logged, asked, clock };
}

/** A page's markup without its layout; a file as it is. */
export function bodyOf({ headers, body }: LightMyRequestResponse): string {
  return String(headers['content-type']).startsWith('text/html') ? pageMarkup(body) : body;
}

/** The Cookie header that a browser would send after this response. */
export function cookiesOf(answer: LightMyRequestResponse): string {
  const header = answer.headers['set-cookie'];
  const all = Array.isArray(header) ? header : [header ?? ''];
  return all
    .filter((each) => !each.includes('Max-Age=0'))
    .map((each) => each.split(';', 1)[0] ?? '')
    .join('; ');
}

/** The headers that a browser sends with each form. */
export const FORM_HEADERS = {
  host: HOST,
  origin: ORIGIN,
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/x-www-form-urlencoded',
} as const;

/** Signs in and returns the Cookie header. */
export async function signIn(app: FastifyInstance, token: string): Promise<string> {
  const answer = await app.inject({
    method: 'POST',
    url: '/sign-in',
    headers: FORM_HEADERS,
    payload: new URLSearchParams({ token }).toString(),
  });
  if (answer.statusCode !== 303) throw new Error(`signing in was answered with ${answer.statusCode}`);
  return cookiesOf(answer);
}

/** The CSRF token of a page. */
export function csrfIn(markup: string): string {
  return /name="csrf" value="([^"]+)"/.exec(markup)?.[1] ?? '';
}
