"""Writes test cases for chat templates: templates, conversations, and the text that transformers renders.

    pip install transformers==5.23.0 jinja2==3.1.6
    python make_golden.py testdata                                   # the files of the test
    python make_golden.py /tmp/cases --templates FOLDER --count 200  # README.md, "Checks"

Without --templates, the templates are those of this file: each uses the constructs of a family of models.
With it, they are the *.jinja files of the folder. A case that transformers rejects has no text.
"""

import argparse
import datetime
import json
import pathlib
import random

from transformers.utils import chat_template_utils

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
NOW = datetime.datetime(2026, 3, 4, 15, 6, 7)

TEMPLATES = {
    # A date, slices of messages, tools as indented JSON, joined conditions.
    "headers": r"""{{- bos_token }}
{%- set today = strftime_now("%d %b %Y (%A, %j) %H:%M") if strftime_now is defined else "unknown" %}
{%- if messages and messages[0].role == 'system' %}
    {%- set rules, rest = messages[0]['content'] | trim, messages[1:] %}
{%- else %}
    {%- set rules, rest = '', messages %}
{%- endif %}
{{- '<|h|>system ' + today + '\n' + rules + '<|e|>' }}
{%- for entry in tools or [] %}
    {{- '\n' }}{{ entry | tojson(indent=2) }}
{%- endfor %}
{%- for m in rest %}
    {%- if 'tool_calls' in m and m.tool_calls | length != 1 %}
        {{- raise_exception('one call at most') }}
    {%- elif 'tool_calls' in m %}
        {%- set f = m.tool_calls[0].function %}
        {{- '<|h|>call ' ~ f.name ~ '(' }}{{ f.arguments | tojson }}{{- ')<|e|>' }}
    {%- elif not (m.role == 'tool' or m.role == 'result') %}
        {{- '<|h|>' + m['role'] + '\n' + (m['content'] if m.content is string else m.content | tojson) | trim + '<|e|>' }}
    {%- elif m.content is mapping or m.content is iterable %}
        {{- '<|h|>result ' }}{{- m.content | tojson }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|h|>assistant\n' }}{%- endif %}
""",
    # A namespace, reversed slices, string methods in chains, conditions with `is`.
    "reasoning": r"""{%- set found = namespace(asked=-1) %}
{%- for m in messages[::-1] %}
    {%- if found.asked < 0 and m.role == 'user' and m.content is string and not m.content.startswith('<tool>') %}
        {%- set found.asked = messages | length - loop.index %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- set body = m.content if m.content is string else '' %}
    {%- set thought = m.reasoning_content if m.reasoning_content is string else '' %}
    {%- if not thought and '</think>' in body %}
        {%- set thought = body.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
        {%- set body = body.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {%- if m.role == 'tool' and (loop.first or loop.previtem.role != 'tool') %}{{- '[user' }}{%- endif %}
    {%- if m.role == 'tool' %}
        {{- ' answer=' ~ body }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{- ']\n' }}{%- endif %}
        {%- continue %}
    {%- endif %}
    {{- '[' ~ m.role ~ '\n' }}
    {%- if loop.index0 > found.asked and thought %}{{- '(' ~ thought.strip('\n') ~ ')\n' }}{%- endif %}
    {{- body }}
    {%- for call in m.tool_calls or [] %}
        {%- set call = call.function or call %}
        {{- ' {' ~ call.name }}: {{ call.arguments if call.arguments is string else call.arguments | tojson }}}
    {%- endfor %}
    {{- ']\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[assistant\n' }}{{- '()\n' if enable_thinking is defined and enable_thinking is false }}
{%- endif %}""",
    # Errors for roles that do not alternate, contents that are lists of parts, line ends in strings.
    "turns": r"""{{ bos_token }}
{%- set has_rules = messages[0]['role'] == 'system' -%}
{%- for m in (messages[1:] if has_rules else messages) -%}
    {%- if (loop.index0 % 2 == 1) == (m['role'] == 'user') -%}
        {{ raise_exception('turn ' ~ loop.index ~ ' is of ' + m.role) }}
    {%- endif -%}
    {{ '<turn of ' + {'assistant': 'model'}.get(m.role, m.role) + '>
' }}
    {%- if loop.first and has_rules -%}
        {{ messages[0].content if messages[0].content is string else messages[0].content[0]['text'] }}
    {%- endif -%}
    {%- if m['content'] is none -%}
        {{ raise_exception('empty turn') }}
    {%- elif m['content'] is not string -%}
        {%- for part in m['content'] -%}
            {{ part['text'] | trim if part['type'] == 'text' else '<' + part['type'] + '>' }}
        {%- endfor -%}
    {%- else -%}
        {{ m['content'] | trim }}
    {%- endif -%}
    {{ '</turn>
' }}
{%- endfor -%}
{{ '<turn of model>
' if add_generation_prompt }}""",
    # Whitespace of blocks without "-".
    "plain": r"""{% for m in messages %}
  {% if m['role'] == 'system' and m['content'] %}
{{'[S]' + m['content']}}
  {% elif m['role'] in ('user', 'assistant') %}
	{{'[' ~ m.role[0] | upper ~ ']
' + m['content'] + '
'}}{% endif %}
 {# nothing #}
{% endfor %}
 {%+ if add_generation_prompt %}{{ '[A]' }}{% else %}{{ eos_token }}{% endif +%}

""",
    # Macros, block set, filters of lists, loop control, raw (SmolLM 3, Hermes, Granite).
    "macros": r"""{%- macro type_of(schema, prefix='') -%}
  {%- if schema.type == 'array' -%}
    {{ prefix }}list[{{ type_of(schema['items']) }}]
  {%- elif schema.type is sequence and schema.type is not string -%}
    {{ schema.type | map('upper') | join(' | ') }}
  {%- else -%}
    {{ schema.type | default('any', true) }}
  {%- endif -%}
{%- endmacro -%}
{# A comment
   of two lines. #}
{% set notice %}
{% raw %}{{ not rendered }}{% endraw %}
{%+ if true %} kept{% endif %}

{% endset %}
{{- notice | trim }}
{%- for tool in tools or [] %}
{{ loop.index }}/{{ loop.length }} {{ tool.function.name | upper }}:
  {%- for name, schema in tool.function.parameters.properties.items() %}
    {%- if name in (tool.function.parameters.required | default([])) %} *{% endif %} {{ name }}={{ type_of(schema, prefix='a ') }}
  {%- else %} nothing
  {%- endfor %}
{%- endfor %}
{% for key, value in {'b': 2, 'A': 1, 'c': none} | dictsort %}{{ key }}:{{ value }};{% endfor %}
{{ [1, 2.5, 'x', none, true, {'k': ('a', 1)}] }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 1 / 4 }} {{ 10 / 5 }}
{%- for message in messages if message.role != 'tool' %}
  {%- if loop.index > 5 %}{% break %}{% endif %}
  {%- if message.content is not string %}{% continue %}{% endif %}
  {%- generation %}<|{{ message.role }}|>{{ message.content | replace('a', 'A') | indent(2, true) }}{% endgeneration %}
{% endfor %}
{{- messages | selectattr('role', 'equalto', 'user') | list | length }} {{ (messages | last).role }}
{{- messages | map(attribute='role') | unique | sort(reverse=true) | join(',') }}
{{- "%s" | string ~ 'é'.upper() ~ "\u00e9\x41\t"[0:2] ~ 'a,b,c'.split(',', 1)[1] ~ 'title case'.title() }}""",
    # Filters of lists, comparisons of mappings, loops over items with a condition, escapes.
    "brackets": r"""{%- set asked = messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for m in messages | rejectattr("role", "in", ["system", "developer"]) %}
    {%- if m["role"] == "user" and m == asked[-1] and tools %}
        {{- "[TOOLS " }}
        {%- for tool in tools %}
            {%- for key, value in tool.function.items() if key != "description" %}
                {{- key ~ "=" }}{{ value if value is string else value | tojson(separators=(',', ':'), sort_keys=true) }}
                {{- "; " if not loop.last }}
            {%- endfor %}
            {{- "] [" if not loop.last else "]" }}
        {%- endfor %}
    {%- endif %}
    {%- if m["role"] == "user" %}
        {{- "[Q]" + m["content"] + "[/Q]" }}
    {%- elif m["role"] == "assistant" %}
        {{- m["content"] + eos_token }}
    {%- elif m["role"] in ["tool", "function"] %}
        {{- '[R]{"content":' + m.content | tojson(ensure_ascii=true) + "}[/R]" }}
    {%- endif %}
{%- endfor %}
""",
}  # fmt: skip

WORDS = """Hello, world! What's the time? a "quoted" word  two  spaces 日本語 émoji 🙂 <think>hm</think> line
break {{ braces }} 'single' back\\slash \ttab <tool>x</tool> 3.14 </s> İstanbul ﬁ &amp;""".split(" ")


def text(rng):
    words = " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 9)))
    return rng.choice(["", "", " ", "\n"]) + words + rng.choice(["", "", " ", "\n\n"])


def tool(rng, i):
    properties = {}
    for name in rng.sample(["city", "unit", "days", "größe"], rng.randint(0, 3)):
        properties[name] = rng.choice([
            {"type": "string", "description": text(rng)},
            {"type": "array", "items": {"type": "number"}},
            {"type": ["integer", "null"], "default": rng.choice([1, 2.5, None, 1e20, -0.0])},
        ])  # fmt: skip
    required = rng.sample(sorted(properties), rng.randint(0, len(properties)))
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": f"f{i}", "description": text(rng), "parameters": parameters}}


def conversation(rng):
    messages = [{"role": "system", "content": text(rng)}] if rng.random() < 0.5 else []
    for _ in range(rng.randint(1, 4)):
        content = text(rng)
        if rng.random() < 0.1:
            content = [{"type": "text", "text": content}, {"type": "image"}]
        messages.append({"role": "user", "content": content})
        if rng.random() < 0.2:
            arguments = {"city": text(rng), "days": rng.choice([3, 1.5, None, True, [1, "x"], {}])}
            call = {"type": "function", "id": "call00001", "function": {"name": "f0", "arguments": arguments}}
            messages.append({"role": "assistant", "content": rng.choice([None, "", text(rng)]), "tool_calls": [call]})
            answer = rng.choice([text(rng), '{"a": 1}'])
            messages.append({"role": "tool", "name": "f0", "tool_call_id": "call00001", "content": answer})
        message = {"role": "assistant", "content": text(rng)}
        if rng.random() < 0.2:
            message["reasoning_content"] = message["thinking"] = text(rng)
        messages.append(message)
    if rng.random() < 0.7:
        messages.pop()
    return messages


def cases(rng, count):
    for _ in range(count):
        case = {"messages": conversation(rng), "add_generation_prompt": rng.random() < 0.7, "variables": {}}
        if rng.random() < 0.3:
            case["tools"] = [tool(rng, i) for i in range(rng.randint(1, 3))]
        if rng.random() < 0.3:
            case["variables"]["enable_thinking"] = rng.random() < 0.5
        yield case


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--templates", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=12, help="conversations per template")
    options = parser.parse_args()
    chat_template_utils.datetime = FixedDate
    templates = TEMPLATES
    if options.templates:
        files = sorted(options.templates.glob("*.jinja"))
        templates = {file.stem: file.read_bytes().decode() for file in files}
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, template in templates.items():
        written = []
        for case in cases(random.Random(name), options.count):
            try:
                rendered, _ = chat_template_utils.render_jinja_template(
                    [case["messages"]], case.get("tools"), None, template,
                    add_generation_prompt=case["add_generation_prompt"], **TOKENS, **case["variables"],
                )  # fmt: skip
                case["text"] = rendered[0]
            except Exception as error:
                case["error"] = f"{type(error).__name__}: {error}"[:200]
            written.append(case)
        content = {"config": {"chat_template": template, **TOKENS}, "cases": written}
        path = options.folder / f"{name}.json"
        path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n")


main()
