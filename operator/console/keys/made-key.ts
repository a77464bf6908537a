/**
 * A key's text on the one page that shows it: for a few minutes after it was made, once, read with the person's own rights. The
 * address says when that was and which rotation is waited for; the text itself is in no address, log or cookie.
 */
import { hash } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import type { Answer, ConsoleDeps, Visit } from '../route.ts';
import { groupChoices } from '../views/group-choices.ts';
import { keyPath } from '../views/key-links.ts';
import { renderMade, renderMadePage } from '../views/key-made.ts';
import type { MadeKey } from '../views/key-made.ts';
import { keyOfVisit } from './key-of-visit.ts';
import { claimShowing, SHOWN_FOR_MS, wasShown } from './shown-keys.ts';

/** Longer than it takes to make one: from here on the page says so and stops looking. */
const LATE_MS = 60_000;
/** So much may replicas' clocks differ. */
const CLOCK_SKEW_MS = 60_000;

/** The address of the page that shows the key of a rotation which was asked for at this moment. */
export function madePath(apiKey: Pick<ApiKey, 'metadata'>, rotation: number, nowMs: number): string {
  return `${keyPath(apiKey, 'created')}?rotation=${rotation}&since=${nowMs}`;
}

/** The page, or the part of it that its script puts in place. */
export async function madePage(visit: Visit): Promise<Answer> {
  const { deps, query } = visit;
  const apiKey = await keyOfVisit(visit);
  const made = await findMadeKey(visit, apiKey);
  const view = { apiKey, made, gatewayUrl: deps.gatewayUrl, model: firstModel(deps, apiKey), place: deps.access.place };
  if (query.has('part')) return { fragment: renderMade(view) };
  return { page: { title: `The key of ${apiKey.metadata.name}`, active: 'keys', body: renderMadePage(view), scripts: ['moments.js', 'copy.js', 'key-made.js'], styles: ['keys.css'] } };
}

async function findMadeKey(visit: Visit, apiKey: ApiKey): Promise<MadeKey> {
  if (apiKey.spec.key.type === 'Provided') return { state: 'Provided' };
  const { nowMs, headOnly, deps } = visit;
  const asked = askedFor(visit, apiKey);
  if (!asked) return { state: 'Over' };
  const waiting = { state: 'Waiting', late: nowMs >= asked.sinceMs + LATE_MS } as const;
  const { keyHash } = asked;
  if (keyHash === undefined) return waiting;
  if (wasShown(deps.state, keyHash)) return { state: 'Over' };
  const found = await readKey(visit, apiKey, keyHash);
  if (found === undefined) return waiting;
  if (found === 'Unreadable') return { state: 'Unreadable' };
  return headOnly || await claimShowing(deps.state, keyHash, nowMs) ? { state: 'Shown', text: found.text } : { state: 'Over' };
}

/**
 * The rotation that the address asks for: since when, and the hash of its key, once it is made. undefined: it is too late for it, or a
 * later one is there, which is for whoever has asked for that.
 */
function askedFor({ query, nowMs }: Visit, { status = {} }: ApiKey): { readonly sinceMs: number; readonly keyHash: string | undefined } | undefined {
  const [rotation, sinceMs] = [numberOf(query.get('rotation')), numberOf(query.get('since'))];
  const inTime = sinceMs <= nowMs + CLOCK_SKEW_MS && nowMs < sinceMs + SHOWN_FOR_MS;
  const { keyHash, keyRotation = 0 } = status;
  return inTime && rotation >= Math.max(1, keyRotation) ? { sinceMs, keyHash: keyRotation === rotation ? keyHash : undefined } : undefined;
}

/** The text, once it is the key with this hash: what a Secret still has from before is not it. */
async function readKey({ person }: Visit, { metadata }: ApiKey, keyHash: string): Promise<'Unreadable' | { readonly text: string } | undefined> {
  try {
    const text = await person.readKeyText(metadata);
    return text !== undefined && hash('sha256', text, 'hex') === keyHash ? { text } : undefined;
  } catch (error) {
    if (error instanceof AccessError && error.fault === 'Forbidden') return 'Unreadable';
    throw error;
  }
}

/** A chat model that the key can call. The price page tells the same to everybody. */
function firstModel({ resources, gatewayNamespace }: ConsoleDeps, { metadata, spec }: ApiKey): string | undefined {
  const facts = resources();
  const groups = facts.groups.filter(({ metadata: { name } }) => name === spec.groupRef.name);
  const [choice] = groupChoices(groups, facts, { namespace: metadata.namespace, gatewayNamespace, current: '' });
  const chat = new Set(facts.modelRoutes.flatMap(({ spec: route }) => route.models.filter(({ endpoints }) => endpoints.includes('Chat')).map(({ name }) => name)));
  return choice?.models.find((model) => chat.has(model) && (spec.models?.includes(model) ?? true));
}

function numberOf(text: string | null): number {
  return /^\d{1,15}$/.test(text ?? '') ? Number(text) : NaN;
}
