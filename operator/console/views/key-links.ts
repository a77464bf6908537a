/** [P] Where a key's pages are, and what the switches post. */
import type { ApiKey } from '#crds/types.gen.ts';

/** The one form that all switches of a page belong to. */
export const SWITCH_FORM = 'switches';

type KeyAction = 'enabled' | 'rotate' | 'delete' | 'created';

/** "/keys/team-a/ci-bot", or one of its actions. */
export function keyPath({ metadata: { namespace, name } }: Pick<ApiKey, 'metadata'>, action?: KeyAction): string {
  const path = `/keys/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return action === undefined ? path : `${path}/${action}`;
}

/** What somebody who presses the switch means: what it shall be, of which object. */
export interface Switched {
  readonly enabled: boolean;
  readonly uid: string;
}

/** "off 1f0c…" */
export function switchValue({ metadata, spec }: ApiKey): string {
  return `${spec.enabled ? 'off' : 'on'} ${metadata.uid ?? ''}`;
}

/** undefined: no switch posts this. */
export function readSwitchValue(text: string): Switched | undefined {
  const [, to, uid = ''] = /^(on|off) (\S*)$/.exec(text) ?? [];
  return to === undefined ? undefined : { enabled: to === 'on', uid };
}
