/** Writes what a handler answers, or what went wrong, with the frame around pages. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { AccessError } from './access/access.ts';
import type { Assets } from './assets.ts';
import { wordsOf } from './faults.ts';
import type { Answer, ConsoleDeps, DownloadedFile, Page } from './route.ts';
import { csrfToken } from './session/csrf.ts';
import type { Door, Visitor } from './session/door.ts';
import { faultView } from './views/fault.ts';
import { layout } from './views/layout.ts';

/** What answers are written with. */
export interface Desk {
  readonly deps: ConsoleDeps;
  readonly assets: Assets;
  readonly door: Door;
}

export interface Reply {
  readonly desk: Desk;
  readonly reply: FastifyReply;
  /** undefined: nobody is signed in, or it is not known yet. */
  readonly visitor: Visitor | undefined;
}

const FRAME_STYLES = ['dress.css'];
const HTML = 'text/html; charset=utf-8';
const FILE_NAME = /^[\w.-]{1,200}$/;

/** A page in its frame. */
export function sendPage({ desk, reply, visitor }: Reply, page: Page, status = 200): void {
  const { assets, door } = desk;
  const person = visitor && { name: visitor.person.person.name, csrf: csrfToken(visitor.csrfSecret), signOut: door.proxied ? 'ByProxy' as const : 'Here' as const };
  void reply.code(status).type(HTML).send(layout(page, { person, styles: FRAME_STYLES, asset: assets.href }));
}

/** Rejects, with nothing written, where a file's first piece cannot be had. */
export async function sendAnswer(to: Reply, answer: Answer): Promise<void> {
  if ('page' in answer) sendPage(to, answer.page, answer.status);
  else if ('fragment' in answer) void to.reply.type(HTML).send(answer.fragment.markup);
  else if ('redirect' in answer) void to.reply.redirect(consolePath(answer.redirect), 303);
  else await sendFile(to, answer.file);
}

/** The page that says what went wrong. Nothing that somebody else could read from it is in it: the log has the rest. */
export function sendFault({ desk, reply, visitor }: Reply, error: unknown): void {
  const { status, title, message, fields, headers, unforeseen } = wordsOf(error);
  const { id, method } = reply.request;
  const path = pathOf(reply.request.url);
  if (unforeseen) desk.deps.log.error({ err: error, requestId: id, method, path }, 'a page of the console failed');
  else if (error instanceof AccessError && error.fault === 'Unavailable') desk.deps.log.warn({ err: error, requestId: id, method, path }, 'the console cannot do what was asked');
  const next = visitor ? { path: '/keys', label: 'Go to the keys' } : { path: '/sign-in', label: 'Go to the sign-in page' };
  const body = faultView({ title, message, fields, requestId: unforeseen ? id : undefined, next });
  void reply.headers(headers);
  sendPage({ desk, reply, visitor }, { title, active: undefined, body }, status);
}

/** A path of the console from something that claims to be one, or "/keys": never another site's address. */
export function pathWithin(text: string): string {
  const base = 'http://console.invalid';
  if (!text.startsWith('/') || !URL.canParse(text, base)) return '/keys';
  const { origin, pathname, search } = new URL(text, base);
  return origin === base && !pathname.startsWith('//') && pathname !== '/sign-in' ? pathname + search : '/keys';
}

/** Without the query, which may hold what people searched for. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

function consolePath(path: string): string {
  if (/^\/(?![/\\])[\x21-\x7e]*$/.test(path)) return path;
  throw new Error('a page leads to what is no path of the console');
}

async function sendFile({ desk, reply }: Reply, { name, contentType, content }: DownloadedFile): Promise<void> {
  if (!FILE_NAME.test(name)) throw new Error('a file has a name that no header may hold');
  const body = typeof content === 'string' ? content : await startStream(content, (error) => {
    desk.deps.log.error({ err: error, requestId: reply.request.id, file: name }, 'a download ended in the middle');
  });
  void reply.type(contentType).header('content-disposition', `attachment; filename="${name}"`).send(reply.request.method === 'HEAD' ? '' : body);
}

/** What cannot even begin becomes an error page. */
async function startStream(pieces: AsyncIterable<string>, onError: (error: unknown) => void): Promise<Readable> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all(): AsyncGenerator<string> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
    } catch (error) {
      onError(error);
      throw error;
    } finally {
      await iterator.return?.();
    }
  }
  return Readable.from(all(), { objectMode: false });
}
