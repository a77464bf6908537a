/**
 * A console route: a method, a path and a handler. The server authenticates the person, checks the form and writes the
 * result; a handler reads and changes only what that person may. Each feature's folder has a routes.ts
 * with its routes, and routes.ts here collects them.
 */
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { TSchema } from 'typebox';
import type { Html } from '#web/html.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import type { LoadedFolder } from '#manifests/load-folder.ts';
import type { Resources } from '#objects/resources.ts';
import type { Translator } from '#objects/translator.ts';
import type { ActivityReader } from '#activity/activity.ts';
import type { ConsoleAccess, PersonAccess } from './access/access.ts';
import type { SharedState } from './access/shared-state.ts';
import type { Values } from './request-schema.ts';
import type { LastChoice } from './session/last-choice.ts';
import type { UsageStore } from './data/usage.ts';

/** The dependencies of all pages. */
export interface ConsoleDeps {
  readonly access: ConsoleAccess;
  readonly state: SharedState;
  /** undefined: the ledger's records cannot be read here; pages say so. */
  readonly usage: UsageStore | undefined;
  /** Recent and refused calls; absent: they cannot be read here. */
  readonly activity?: ActivityReader | undefined;
  /** The operator's copy of the cluster, read without a person's rights: only for public facts such as prices. */
  readonly resources: () => Resources;
  /** The operator's translation of them, by which pages show what the gateway offers and would say of an edit. */
  readonly translator: Translator;
  /** The schemas by which forms are checked before anything is sent. */
  readonly schemas: Schemas;
  /** Parses manifests and checks them as the API server would. */
  readonly loadManifests: (text: string) => LoadedFolder;
  /** Resolves when the process has done its other pending work; long computations wait for it now and then. */
  readonly nextTurn: () => Promise<unknown>;
  readonly gatewayNamespace: string;
  /** The fingerprint that statuses show of a key (status.keyHash); undefined: its SHA-256. */
  readonly keyHashOf?: (key: string) => string;
  /** The base URL of the gateway for snippets, without a path; undefined: not configured. */
  readonly gatewayUrl: string | undefined;
  /** undefined: the gateway's address is not configured. */
  readonly callGateway?: GatewayCaller | undefined;
  /** undefined: the channels cannot be probed from here, but in a proxy's pod. */
  readonly doctor?: ChannelDoctor | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Asks the channels of a route whether they serve, with the gateway's own credentials. */
export interface ChannelDoctor {
  /** Describes the requests of a check and their cost, for people. */
  costs(route: string): string;
  /** Never rejects because of a channel. */
  check(route: string): Promise<readonly ChannelFinding[]>;
}

export interface ChannelFinding {
  /** "route/channel" */
  readonly channel: string;
  readonly model: string;
  readonly asked: 'Count' | 'Call';
  /** undefined: the channel serves. */
  readonly problem: string | undefined;
  /** Contains no secrets. */
  readonly message: string;
}

/** What a route declares of its requests; a schema that is absent admits nothing. */
export interface RequestSchema {
  /** The path's parameters. */
  readonly params?: TSchema | undefined;
  readonly query?: TSchema | undefined;
  /** The posted fields. */
  readonly form?: TSchema | undefined;
}

/** One request of a signed-in person, which fits what its route declares. */
export interface PageRequest<Schema extends RequestSchema = { readonly params?: undefined }> {
  readonly deps: ConsoleDeps;
  readonly person: PersonAccess;
  /** Must be in each form that is posted: `postForm` writes it. */
  readonly csrf: string;
  /** As the browser wrote it, without the query: "/keys/team-a/ci". */
  readonly path: string;
  /** The path's parameters, decoded. */
  readonly params: Values<Schema['params']>;
  /** Where a parameter comes twice, the last one counts. */
  readonly query: Values<Schema['query']>;
  /** The posted fields, without the CSRF token; empty where nothing was posted. */
  readonly form: Values<Schema['form']>;
  /** The API key that the person has signed in with; undefined: a token of another kind. Never logged or shown. */
  readonly ownKeyText?: string | undefined;
  /** What the person chose for the last key that they created in this browser; undefined: they created none. */
  readonly lastChoice: () => LastChoice | undefined;
  /** Aborts when the browser disconnects before the response is complete. */
  readonly gone: AbortSignal;
  /** A HEAD request: nothing counts as revealed. */
  readonly headOnly: boolean;
  /** When the request arrived, in milliseconds since the epoch; pages use this instead of the clock. */
  readonly nowMs: number;
}

export type NavigationItem =
  'overview' | 'keys' | 'wallet' | 'usage' | 'models' | 'playground' | 'routes' | 'groups' | 'catalogs';

/** The content that components/layout.ts wraps. */
export interface Page {
  /** The window's title, without the product's name. */
  readonly title: string;
  /** undefined: none of them. */
  readonly active: NavigationItem | undefined;
  /** The content of <main>, its <h1> included. */
  readonly body: Html;
  /** Files of the feature's folder, "keys.js": loaded as modules, each once. */
  readonly scripts?: readonly string[];
  /** Files of the feature's folder, "keys.css", loaded after those of all pages. */
  readonly styles?: readonly string[];
}

export type HandlerResult =
  /** Default 200. */
  | { readonly page: Page; readonly status?: number }
  /** A part of a page, which a script puts in place; the same markup as in the page. */
  | { readonly fragment: Html }
  /** 303 See Other. Only paths of the console. `chosen`: the form of this person's next key begins with it. */
  | { readonly redirect: string; readonly chosen?: LastChoice }
  | { readonly file: DownloadedFile }
  | { readonly relay: RelayedAnswer };

/** A person's own call of the gateway. */
export interface GatewayCall {
  /** Printable ASCII: it goes into a header. */
  readonly key: string;
  readonly path: string;
  /** JSON; undefined: a GET. */
  readonly body?: string;
  /** Aborts when the browser has gone. */
  readonly gone: AbortSignal;
}

/** Resolves when the answer begins, and never rejects. */
export type GatewayCaller = (call: GatewayCall) => Promise<RelayedAnswer>;

/** An answer of the gateway for a script of the page. */
export interface RelayedAnswer {
  readonly status: number;
  /** Nothing that a browser would show as a page. */
  readonly contentType: 'application/json; charset=utf-8' | 'text/event-stream' | `video/${string}`;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Readable | string;
}

export interface DownloadedFile {
  /** The file's name: letters, digits, ".", "-" and "_". */
  readonly name: string;
  /** "text/csv; charset=utf-8" */
  readonly contentType: string;
  /**
   * Sent in chunks; an error in the middle breaks the connection, so that a truncated file is not taken for a complete
   * one.
   */
  readonly content: string | AsyncIterable<string>;
}

/**
 * One page or form action. A handler may reject with AccessError or LedgerUnavailable: the server writes the error
 * page.
 */
export interface ConsoleRoute extends RequestSchema {
  /**
   * HEAD is answered by GET's handler. A POST reaches its handler only with this session's CSRF token and from this
   * site.
   */
  readonly method: 'GET' | 'POST';
  /** As fastify has it: "/keys/:namespace/:name". */
  readonly path: string;
  readonly handle: (request: AnyRequest) => Promise<HandlerResult> | HandlerResult;
}

/** A request of any route. */
interface AnyRequest extends Omit<PageRequest, 'params' | 'query' | 'form'> {
  readonly params: Checked;
  readonly query: Checked;
  readonly form: Checked;
}

// oxlint-disable-next-line typescript/no-explicit-any
type Checked = any; // `route` has typed it for the handler, and the server checks it against the route's schemas

interface Declared<
  P extends TSchema | undefined,
  Q extends TSchema | undefined,
  F extends TSchema | undefined,
> extends Omit<ConsoleRoute, 'params' | 'query' | 'form' | 'handle'> {
  readonly params?: P;
  readonly query?: Q;
  readonly form?: F;
  readonly handle: (
    request: PageRequest<{ readonly params: P; readonly query: Q; readonly form: F }>,
  ) => Promise<HandlerResult> | HandlerResult;
}

/** A route with a handler that takes what its schemas admit. */
export function route<
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  F extends TSchema | undefined = undefined,
>(declared: Declared<P, Q, F>): ConsoleRoute {
  return declared;
}

/** The API's kinds, by name. */
export type Schemas = ReadonlyMap<string, KindSchema>;
