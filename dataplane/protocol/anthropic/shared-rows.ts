/**
 * Rows of the tables for Anthropic's requests that are the same whatever protocol they are converted to, because only
 * Anthropic can do what they ask for.
 */
import { refused } from '../field-table.ts';

const OTHER_ACCOUNT = refused('it belongs to an account at Anthropic');
const TOOLS_CHANGE = refused('tools are for the whole call');
const UNREADABLE = refused('only Anthropic can read it');

/** Fields of a request. */
export const ACCOUNT_FIELDS = {
  fallbacks: refused('routes have their own'),
  fallback_credit_token: OTHER_ACCOUNT,
  billing_policy: OTHER_ACCOUNT,
  user_profile_id: OTHER_ACCOUNT,
  workspace_id: OTHER_ACCOUNT,
};

/** Fields of a message. */
export const MESSAGE_SETTINGS = {
  clear_at: refused('a message stays in its conversation', ['never']),
  output_config: refused('settings are for the whole call'),
};

/** Blocks of a system message. */
export const TOOL_CHANGES = { tool_addition: TOOLS_CHANGE, tool_removal: TOOLS_CHANGE };

/** Blocks of an assistant message. */
export const UNREADABLE_BLOCKS = { compaction: UNREADABLE, fallback: UNREADABLE };
