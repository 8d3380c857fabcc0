"""Languages other than English: a question in each finds its memory, however it is written."""

# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

import pytest

from bethink import MemoryStore

# By language: what is stored, and a question that it answers.
ASKED = {
    "zh": [
        ("我对花生过敏,吃了会起疹子", "我不能吃什么?有过敏吗?"),
        ("女儿小雨明年上小学", "小雨什么时候上学?"),
        ("他每天早上喝一杯绿茶", "他喝什么茶?"),
        ("我们的猫叫团团,今年三岁", "猫叫什么名字?"),
        ("公司把服务器迁移到了腾讯云", "腾讯云上有什么?"),
        ("妈妈的生日是五月八日", "妈妈几号过生日?"),
        ("周末想去杭州看西湖", "周末打算去哪里?"),
        ("她最喜欢的作家是鲁迅", "她喜欢哪位作家?"),
        ("爷爷住在成都的一个老院子里", "爷爷住哪儿?"),
        ("车停在地下二层,车位号是B217", "车在哪里?"),
        ("小李下个月要结婚了", "谁要结婚?"),
        ("预算不能超过三万元", "预算是多少?"),
    ],
    "ja": [
        ("猫を二匹飼っていて、名前はモモとクロです", "猫の名前は?"),
        ("来週の金曜日に歯医者の予約がある", "歯医者はいつですか"),
        ("彼女は蕎麦アレルギーです", "アレルギーは何かありますか"),
        ("東京タワーの近くに引っ越しました", "東京のどこに引っ越したの?"),
        ("父は大阪で寿司屋をしている", "父はどこで働いていますか"),
        ("車は青いトヨタです", "車は何色ですか"),
        ("毎朝コーヒーをブラックで飲む", "コーヒーの飲み方は?"),
        ("次の会議は会議室Bで十時から", "会議はどこで?"),
        ("娘がピアノを習い始めた", "娘は何を習っていますか"),
        ("本番サーバーのバックアップは毎晩取っている", "バックアップはいつ?"),
        ("駅から歩いて五分のアパートに住んでいます", "駅から何分?"),
        ("犬の散歩は夕方に行く", "犬はいつ散歩しますか"),
    ],
    "ko": [
        ("저는 땅콩 알레르기가 있어요", "알레르기가 뭐예요?"),
        ("여동생은 부산에서 대학교를 다녀요", "여동생은 어디에서 공부해요?"),
        ("우리 집 개 이름은 초코예요", "개의 이름이 뭐예요?"),
        ("매주 화요일 저녁에 한국어 수업을 듣는다", "한국어 수업은 언제예요?"),
        ("김치찌개를 제일 좋아합니다", "김치찌개는 좋아하나요?"),
        ("다음 달에 제주도로 여행을 갈 거예요", "여행은 어디로 떠나요?"),
        ("회의는 오전 열 시에 시작합니다", "회의가 몇 시에 시작해요?"),
        ("아버지는 은행에서 일하세요", "아버지의 직업은?"),
        ("새 노트북을 백만 원에 샀다", "노트북은 얼마였어요?"),
        ("차는 지하 이 층에 세워 두었어요", "차를 어디에 세웠어요?"),
        ("서버 비밀번호는 매달 바꿉니다", "비밀번호를 얼마나 자주 바꿔요?"),
        ("할머니 생신은 오월 팔일이다", "할머니의 생신은 언제예요?"),
    ],
    "ru": [
        ("У Маши аллергия на орехи", "На что аллергия у Маши?"),
        ("Моя сестра живёт в Москве", "Кто живет в Москве?"),
        ("Кошку зовут Мурка, ей три года", "Как зовут кошку?"),
        ("Встреча перенесена на пятницу", "Когда встреча?"),
        ("Отец работает врачом в больнице", "Где работает отец?"),
        ("Пароль от сервера меняют каждый месяц", "Как часто меняют пароль?"),
        ("Летом мы едем на Байкал", "Куда мы едем летом?"),
        ("Ёлку купим в декабре", "Когда купим елку?"),
        ("Бабушка любит чай с вареньем", "Что любит бабушка?"),
        ("Новый ноутбук стоил сто тысяч рублей", "Сколько стоил ноутбук?"),
        ("Дочь учится играть на скрипке", "На чём играет дочь?"),
        ("Машина стоит на подземной парковке", "Где стоит машина?"),
    ],
    "de": [
        ("Anna ist allergisch gegen Nüsse", "Wogegen ist Anna allergisch?"),
        ("Das Büro zieht im März nach Köln um", "Wohin zieht das Büro um?"),
        ("Die Katze heißt Mieze und ist drei Jahre alt", "Wie heißt die Katze?"),
        ("Das Geburtstagsgeschenk für Oma liegt im Schrank", "Wo liegt das Geburtstagsgeschenk?"),
        ("Der Zug nach München fährt um acht Uhr", "Wann fährt der Zug nach München?"),
        ("Herr Müller wohnt in der Goethestraße 12", "In welcher Straße wohnt Herr Müller?"),
        ("Der Server wird jede Nacht gesichert", "Wann wird der Server gesichert?"),
        ("Meine Schwester studiert in Wien Medizin", "Was studiert meine Schwester?"),
        ("Unser Budget beträgt höchstens 3.000 Euro", "Wie hoch ist unser Budget?"),
        ("Am Wochenende wandern wir im Schwarzwald", "Was machen wir am Wochenende?"),
        ("Opa trinkt morgens schwarzen Tee", "Was trinkt Opa?"),
        ("Das Passwort wird monatlich geändert", "Wie oft wird das Passwort geändert?"),
    ],
    "ar": [
        ("ليلى تعاني من حساسية الفول السوداني", "ما هي حساسية ليلى؟"),
        ("أختي تعيش في القاهرة", "أين تعيش أختي؟"),
        ("القطة اسمها لولو وعمرها ثلاث سنوات", "ما اسم القطة؟"),
        ("الاجتماع يوم الأحد في العاشرة صباحا", "متى الاجتماع؟"),
        ("يعمل والدي طبيبا في المستشفى", "أين يعمل والدي؟"),
        ("أحمد يحب القهوة بدون سكر", "ماذا يحب أحمد؟"),
        ("السيارة في الطابق الثاني تحت الأرض", "أين السيارة؟"),
        ("سنسافر إلى المغرب في الصيف", "متى سنسافر إلى المغرب؟"),
        ("كلمة السر تتغير كل شهر", "كم مرة تتغير كلمة السر؟"),
        ("ابنتي تتعلم العزف على البيانو", "ماذا تتعلم ابنتي؟"),
        ("الميزانية لا تتجاوز ألف دينار", "كم الميزانية؟"),
        ("جدتي تسكن قرب المدرسة القديمة", "أين تسكن جدتي؟"),
    ],
    "th": [
        ("แมวของฉันชื่อส้มโอ", "แมวชื่ออะไร"),
        ("พี่สาวทำงานที่เชียงใหม่", "พี่สาวทำงานที่ไหน"),
        ("เขาแพ้ถั่วลิสง", "เขาแพ้อะไร"),
        ("ประชุมเลื่อนไปวันศุกร์", "ประชุมวันไหน"),
        ("แม่ชอบดื่มชาเขียวตอนเช้า", "แม่ชอบดื่มอะไร"),
        ("รถจอดอยู่ชั้นใต้ดิน", "รถจอดที่ไหน"),
        ("ลูกสาวเรียนเปียโน", "ลูกสาวเรียนอะไร"),
        ("เราจะไปเที่ยวภูเก็ตเดือนหน้า", "เดือนหน้าไปเที่ยวไหน"),
        ("รหัสผ่านต้องเปลี่ยนทุกเดือน", "รหัสผ่านเปลี่ยนเมื่อไร"),
        ("คุณยายเกิดปี ๒๔๙๙", "คุณยายเกิดปี 2499 ใช่ไหม"),
    ],
    "hi": [
        ("रिया को मूंगफली से एलर्जी है", "रिया को किससे एलर्जी है?"),
        ("मेरी बहन दिल्ली में रहती है", "दिल्ली में कौन रहती है?"),
        ("बिल्ली का नाम मिनी है", "बिल्ली का नाम क्या है?"),
        ("बैठक शुक्रवार को होगी", "बैठक कब होगी?"),
        ("पिताजी अस्पताल में डॉक्टर हैं", "पिताजी कहाँ काम करते हैं?"),
        ("माँ सुबह हरी चाय पीती हैं", "माँ क्या पीती हैं?"),
        ("गाड़ी नीचे वाली पार्किंग में खड़ी है", "गाड़ी कहाँ खड़ी है?"),
        ("हम गर्मियों में शिमला जाएँगे", "शिमला कब जाएँगे?"),
        ("पासवर्ड हर महीने बदलता है", "पासवर्ड कितनी बार बदलता है?"),
        ("बेटी पियानो सीख रही है", "बेटी क्या सीख रही है?"),
    ],
    "fr": [
        ("Zoé est allergique aux noix", "À quoi Zoé est-elle allergique ?"),
        ("L'été prochain nous partons à l'île de Ré", "Où partons-nous l'été prochain ?"),
        ("Le chat s'appelle Félix", "Comment s'appelle le chat ?"),
        ("La réunion est reportée à vendredi", "Quand est la réunion ?"),
        ("Mon père travaille à l'hôpital", "Où travaille mon père ?"),
        ("Le mot de passe change chaque mois", "À quelle fréquence change le mot de passe ?"),
        ("Ma sœur habite à Besançon", "Où habite ma sœur ?"),
        ("La voiture est garée au deuxième sous-sol", "Où est garée la voiture ?"),
        ("Il boit son café sans sucre", "Comment boit-il son café ?"),
        ("Le budget ne dépasse pas 3000 euros", "Quel est le budget ?"),
    ],
    "es": [
        ("Lucía es alérgica a los cacahuetes", "¿A qué es alérgica Lucía?"),
        ("Mi hermana vive en Málaga", "¿Dónde vive mi hermana?"),
        ("El gato se llama Canela", "¿Cómo se llama el gato?"),
        ("La reunión se pasa al viernes", "¿Cuándo es la reunión?"),
        ("Mi padre trabaja en el hospital", "¿En qué trabaja mi padre?"),
        ("El año que viene iremos a Perú", "¿Adónde iremos el año que viene?"),
        ("La contraseña se cambia cada mes", "¿Cada cuánto se cambia la contraseña?"),
        ("El coche está en el segundo sótano", "¿Dónde está el coche?"),
        ("A la abuela le gusta el té con limón", "¿Qué le gusta a la abuela?"),
        ("El presupuesto no pasa de 3000 euros", "¿Cuál es el presupuesto?"),
    ],
}


def recalled(memories: list[str], questions: list[str]) -> list[str]:
    """Return what comes first for each question in a store of just these memories."""
    with MemoryStore() as store:
        store.store_many(memories)
        found = [store.recall(question, k=1, touch=False) for question in questions]
    return [hits[0].memory.content if hits else "" for hits in found]


def columns(language: str) -> tuple[list[str], list[str]]:
    """Return the memories of a language and the questions."""
    return [memory for memory, _ in ASKED[language]], [asked for _, asked in ASKED[language]]


@pytest.fixture(scope="module")
def babel() -> Iterator[MemoryStore]:
    """A store of all languages."""
    with MemoryStore() as store:
        store.store_many(memory for pairs in ASKED.values() for memory, _ in pairs)
        yield store


@pytest.mark.parametrize("language", ASKED)
def test_a_question_finds_its_memory_first(language: str) -> None:
    memories, questions = columns(language)
    assert recalled(memories, questions) == memories


@pytest.mark.parametrize("language", ASKED)
def test_other_languages_in_the_store_do_not_get_in_the_way(
    language: str, babel: MemoryStore
) -> None:
    memories, questions = columns(language)
    hits = [babel.recall(question, k=1, touch=False) for question in questions]
    assert [hit.memory.content for (hit,) in hits] == memories


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("language", ASKED)
def test_how_the_letters_are_composed_does_not_matter(
    language: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    memories, questions = columns(language)
    asked = [unicodedata.normalize(form, question) for question in questions]
    assert recalled(memories, asked) == memories
    kept = [unicodedata.normalize(form, memory) for memory in memories]
    assert recalled(kept, questions) == kept


@pytest.mark.parametrize(
    ("language", "question", "number"),
    [
        ("ja", "ﾊﾞｯｸｱｯﾌﾟはいつ?", 9),
        ("ja", "歯医者は，いつ？", 1),
        ("zh", "Ｂ２１７在哪里？", 9),
        ("de", "ＭÜＮＣＨＥＮ", 4),
        ("th", "คุณยายเกิดปี ２４９９", 9),
    ],
)
def test_half_and_full_width_are_one(language: str, question: str, number: int) -> None:
    memories, _ = columns(language)
    assert recalled(memories, [question]) == [memories[number]]


@pytest.mark.parametrize(
    ("language", "question", "number"),
    [
        ("zh", "茶", 2),
        ("zh", "那只猫几岁?", 3),
        ("ja", "犬", 11),
        ("ja", "娘の趣味", 8),
        ("ko", "개", 2),
        ("ko", "차가 안 보여요", 9),
    ],
)
def test_a_word_of_one_character_is_found_in_any_company(
    language: str, question: str, number: int
) -> None:
    memories, _ = columns(language)
    assert recalled(memories, [question]) == [memories[number]]


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("Моя сестра переехала в Москву", "Что нового в Москве?"),
        ("Кошку зовут Мурка", "Какая кличка у кошки?"),
        ("Билеты на поезд лежат в столе", "Где билет?"),
        ("Соседская собака боится грозы", "Чего боятся собаки?"),
        ("Мій брат працює в лікарні", "Хто з братів лікар?"),
        ("Ο σκύλος μου λέγεται Άργος", "Πώς λένε τους σκύλους σου;"),
        ("المدرسة تفتح في سبتمبر", "متى تبدأ مدرسة الأطفال؟"),
        ("موعد الطبيب غدا", "متى نذهب للطبيب؟"),
        ("اشترى عمي سيارة جديدة", "ما لون السيارة؟"),
        ("عاش جدي وعمل في دمشق", "أين عمل جدك؟"),
        ("وصلت الرسالة بسرعة كبيرة", "ما سرعة البريد؟"),
        ("הפגישה עם הרופא ביום שלישי", "מתי הולכים לרופא?"),
        ("ירושלים קרה בחורף", "מה חדש בירושלים?"),
        ("किताबें अलमारी में रखी हैं", "किताब किसने ली?"),
        ("Das Geburtstagsgeschenk ist ein Buch", "Wann ist Geburtstag?"),
        ("Die Versicherungen laufen im Juni aus", "Welche Versicherung ist es?"),
        ("Evimiz İstanbul'da", "İstanbul nasıl?"),
        ("Los billetes son para marzo", "¿Quién tiene el billete?"),
    ],
)
def test_another_form_of_a_word_finds_it(memory: str, question: str) -> None:
    others = [memory for pairs in ASKED.values() for memory, _ in pairs[-2:]]
    assert recalled([*others, memory], [question]) == [memory]


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("Der Schlüssel für den Keller liegt unter der Matte", "Wo sind die Kellerschlüssel?"),
        ("Mötet flyttades till onsdag", "När är mötena?"),
        ("Sono allergico alle arachidi", "Che allergie ho?"),
    ],
)
def test_short_words_in_latin_letters_are_found_in_another_form(memory: str, question: str) -> None:
    others = ["Ann moved to Oslo", "Bob sold a boat", "Ein Zug fährt um sechs"]
    assert recalled([memory, *others], [question]) == [memory]


@pytest.mark.parametrize(
    "question",
    [
        "متى الاجتماع",
        "‏متى ‫الاجتماع‬",
        "مَتَى الاِجْتِمَاع",
        "متى الاجتمـــاع",
    ],
    ids=["plain", "marks of direction", "vowels", "stretched"],
)
def test_marks_of_arabic_writing_do_not_matter(question: str) -> None:
    memories, _ = columns("ar")
    assert recalled(memories, [question]) == [memories[3]]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("أحمد يسكن في عمان", "احمد"),
        ("کتاب روی میز است", "كتاب"),
        ("کیف‌ها در اتاق است", "کیف ها"),
        ("خانهٔ ما در شیراز است", "خانۀ"),
        ("مستشفي الملك بعيد", "المستشفى"),
        ("ज़मीन बिक गई", "जमीन"),
        ("माँ घर पर हैं", "मां"),
        ("Вчера купили ёлку", "елку"),
        ("Die Straße ist gesperrt", "STRASSE"),
        ("Łódź leży w Polsce", "lodz"),
    ],
)
def test_spellings_of_one_word_meet(stored: str, asked: str) -> None:
    assert recalled([*columns("de")[0], stored], [asked]) == [stored]


@pytest.mark.parametrize(
    ("memories", "question"),
    [
        (["Sie wohnt an der Elbe", "Sie wohnt bei der Post"], "Wer wohnt an der See?"),
        (["Hij was in Gent", "Hij is in Gent"], "Wat was er met hem in Gent?"),
        (["Mẹ ăn gì at nhà", "Mẹ ăn gì ở nhà"], "mẹ ăn gì at đó"),
    ],
)
def test_words_that_look_like_english_stop_words_count(memories: list[str], question: str) -> None:
    assert recalled(memories[::-1], [question]) == memories[:1]


def test_names_in_another_script_are_found() -> None:
    memories = [
        "把Kubernetes集群升级了",
        "昨日Annaさんに会った",
        "Сервис GitLab переехал",
        "يستخدم الفريق برنامج Slack",
    ]
    assert recalled(memories, ["kubernetes", "Annaは誰?", "GitLab", "Slack؟"]) == memories


def test_a_question_mark_is_no_likeness_of_texts_in_another_script() -> None:
    with MemoryStore() as store:
        store.store_many(["Мама любит чай?", "Кошку зовут Мурка"])
        hits = store.recall("Где живёт Петя?", mode="semantic", touch=False)
    assert hits == []
