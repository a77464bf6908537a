/** Writes a handler's result, or an error page, inside the layout. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessError } from './access/access.ts';
import type { Assets } from './assets.ts';
import { withBasePath } from './base-path.ts';
import { describeError } from './describe-error.ts';
import type { HandlerResult, ConsoleDeps, DownloadedFile, Page, RelayedAnswer } from './route.ts';
import type { Authenticator } from './session/authenticator.ts';
import { writeLastChoice } from './session/last-choice.ts';
import { errorPage } from './components/error-page.ts';
import { layout } from './components/layout.ts';

/** What every reply needs. */
export interface ReplyContext {
  readonly deps: ConsoleDeps;
  readonly assets: Assets;
  readonly authenticator: Authenticator;
  /** The path below which people reach the console; '' at a host's root. */
  readonly basePath: string;
}

/** The request, authenticated if anybody is signed in, and its reply. */
export interface RequestAndReply {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const LAYOUT_FILES = { styles: ['theme.css', 'components.css'], scripts: ['moments.js', 'find.js'] } as const;
const HTML = 'text/html; charset=utf-8';
const FILE_NAME = /^[\w.-]{1,200}$/;

/** A page in its layout. */
export function sendPage(context: ReplyContext, { request, reply }: RequestAndReply, page: Page, status = 200): void {
  const { assets, authenticator, basePath } = context;
  const access = request.principal?.person;
  const signOut = authenticator.proxied ? 'ByProxy' : 'Here';
  const person =
    access &&
    ({
      name: access.person.name,
      csrf: reply.generateCsrf(),
      signOut,
      byKey: access.ownKey !== undefined,
      platform: request.seesPlatform,
    } as const);
  const document = layout(page, { person, files: LAYOUT_FILES, asset: assets.href });
  void reply.code(status).type(HTML).send(withBasePath(document, basePath));
}

/** 303 See Other. `path` is one of the console, with its query. */
export function sendRedirect({ basePath }: ReplyContext, reply: FastifyReply, path: string): FastifyReply {
  return reply.redirect(basePath + path, 303);
}

/** Rejects before anything is written if the first chunk of a file cannot be read. */
export async function sendResult(
  context: ReplyContext,
  exchange: RequestAndReply,
  answer: HandlerResult,
): Promise<void> {
  if ('page' in answer) sendPage(context, exchange, answer.page, answer.status);
  else if ('fragment' in answer)
    void exchange.reply.type(HTML).send(withBasePath(answer.fragment.markup, context.basePath));
  else if ('redirect' in answer) sendNext(context, exchange, answer);
  else if ('relay' in answer) sendRelay(exchange, answer.relay);
  else await sendFile(context, exchange, answer.file);
}

function sendNext(
  context: ReplyContext,
  { request, reply }: RequestAndReply,
  { redirect, chosen }: Extract<HandlerResult, { redirect: string }>,
): void {
  const person = request.principal?.person.person.name;
  if (chosen && person !== undefined)
    writeLastChoice({ request, reply }, chosen, { person, basePath: context.basePath });
  void sendRedirect(context, reply, consolePath(redirect));
}

/** Writes an error page. Details that other people must not see go to the log only. */
export function sendErrorPage(context: ReplyContext, exchange: RequestAndReply, error: unknown): void {
  const { request, reply } = exchange;
  const { status, title, message, fields, headers, unforeseen } = describeError(error);
  const fieldsOfLog = { err: error, requestId: request.id, method: request.method, path: pathOf(request.url) };
  if (unforeseen) context.deps.log.error(fieldsOfLog, 'a page of the console failed');
  else if (isUnavailable(error)) context.deps.log.warn(fieldsOfLog, 'the console cannot serve a request');
  const signIn = { path: '/sign-in', label: 'Go to the sign-in page' };
  const next = request.principal ? { path: '/keys', label: 'Go to the keys' } : signIn;
  const body = errorPage({ title, message, fields, requestId: unforeseen ? request.id : undefined, next });
  void reply.headers(headers);
  sendPage(context, exchange, { title, active: undefined, body }, status);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AccessError && error.reason === 'Unavailable';
}

/** Returns the path if it is one of the console, otherwise "/keys": never an address of another site. */
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

function sendRelay({ reply }: RequestAndReply, { status, contentType, headers, content }: RelayedAnswer): void {
  void reply.code(status).headers(headers).type(contentType).send(content);
}

async function sendFile(
  { deps }: ReplyContext,
  { request, reply }: RequestAndReply,
  file: DownloadedFile,
): Promise<void> {
  const { name, contentType, content } = file;
  if (!FILE_NAME.test(name)) throw new Error('a file has a name that no header may hold');
  const body =
    typeof content === 'string'
      ? content
      : await startStream(content, (error) => {
          deps.log.error({ err: error, requestId: request.id, file: name }, 'a download was cut off');
        });
  void reply.type(contentType).header('content-disposition', `attachment; filename="${name}"`);
  void reply.send(request.method === 'HEAD' ? '' : body);
}

/** A stream that fails before its first piece becomes an error page. */
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
