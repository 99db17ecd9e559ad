"""Words that synthetic names are made of: forenames, family names, titles, and the parts of organizations.

The lists were put together for this package from names in common use; a combination that somebody bears is chance. Most
frequent first: `generate` draws the first entries more often than the last.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["STOCKS", "Stock"]


@dataclass(frozen=True, slots=True)
class Stock:
    """The words of one language scene.

    >>> STOCKS["english"].forenames[0], STOCKS["french"].titles[0]
    ('John', 'M.')
    """

    forenames: tuple[str, ...]
    family: tuple[str, ...]
    beginnings: tuple[str, ...]  # of further family names, when the list does not suffice
    middles: tuple[str, ...]
    endings: tuple[str, ...]
    titles: tuple[str, ...]
    places: tuple[str, ...]
    fields: tuple[str, ...]
    bodies: tuple[str, ...]
    organization: str  # how the three parts make a name


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ENGLISH = Stock(
    forenames=_words(
        """John Mary Robert Anna David Sarah Michael Laura Peter Helen James Julia Thomas Emma Daniel Alice Martin Ruth
        Andrew Clara George Nora Stephen Irene Philip Rosa Victor Edith Walter Sofia Oscar Diana Simon Teresa Adam Marta
        Leonard Vera Hugo Agnes Samuel Greta Arthur Judith Felix Miriam Conrad Esther Edward Louise Patrick Monica
        Gerald Sylvia Howard Eleanor Raymond Beatrice Lawrence Harriet Vincent Florence Douglas Caroline Alexander
        Catherine Nicholas Margaret Benjamin Elizabeth Christopher Victoria Jonathan Charlotte Frederick Josephine
        Mohamed Fatima Ahmed Layla Yusuf Amina Ivan Olga Boris Natalia Sergei Irina Chen Mei Hiroshi Yuki Raj Priya
        Carlos Lucia Diego Elena Marco Giulia Lars Ingrid Jan Eva Tomasz Zofia Kofi Abena Tariq Noor"""
    ),
    family=_words(
        """Smith Miller Johnson Brown Taylor Walker Clark Wright Turner Hughes Carter Parker Morgan Bennett Foster
        Harrison Graham Fletcher Chapman Webster Barker Holland Sutton Lawson Pearson Mitchell Robertson Henderson
        Campbell Stewart Ferguson Macdonald Sinclair Cunningham Whitfield Blackwood Ashworth Thornton Kingsley Marlow
        Pemberton Hartley Winslow Langford Bradshaw Stanhope Weatherby Hollister Rutherford Abernathy Rumyantsev Petrov
        Kuznetsov Volkov Sokolov Lebedev Morozov Nikolaev Fedorov Orlov Elbaradei Haddad Mansour Khalil Rahman Hussein
        Farouk Nasser Aziz Karimi Hosseini Tehrani Ahmadi Yamamoto Tanaka Watanabe Kobayashi Nakamura Fujimoto Zhang
        Wang Huang Zhao Sharma Banerjee Chatterjee Mukherjee Krishnan Garcia Fernandez Rodriguez Gonzalez Martinez
        Sanchez Ramirez Rossi Bianchi Ferrari Esposito Ricci Schmidt Schneider Fischer Hoffmann Zimmermann Hartmann
        Lindqvist Andersson Johansson Eriksen Kowalski Nowak Wisniewski Kaminski Novotny Dvorak Prochazka Horvath Szabo
        Okafor Mensah Adeyemi Diallo"""
    ),
    beginnings=_words(
        """Ald Bar Bel Bran Cal Cor Dan Del Elm Fair Far Gal Gran Hal Har Hol Ken Kir Lam Lin Mal Mar Mel Nor Old Pal
        Per Quin Ral Ros Sal Sel Stan Tal Tor Ulm Val Ver Wal Wes Wil Yar Zel Ash Brad Clif Dray Ever Frost Glen"""
    ),
    middles=_words("a ar e el en er i in o on or ul"),
    endings=_words(
        """bury combe croft dale den field ford gate ham hurst ington land ley low man mere more ney over ridge sen shaw
        son stead stone ston thorpe ton vale ville ward water way well wick win wood worth yard"""
    ),
    titles=_words("Mr. Mrs. Dr. Prof. Ms. Sir President Minister Director General Senator Judge"),
    places=_words(
        """London Northern Atlantic Riverside Cambridge Oxford Highland Western Manchester Bristol Pacific Danube Nordic
        Baltic Lakeside Geneva Vienna Prague Lisbon Madrid Toronto Boston Chicago Denver Sydney Auckland Dublin Glasgow
        Leeds Norwich Harbour Valley Summit Meridian Coastal Eastern Southern Central Royal National European Global
        United Alpine Pennine Severn Thames Humber Solent Cotswold"""
    ),
    fields=_words(
        """Energy Steel Insurance Engineering Publishing Shipping Medical Technology Housing Research Transport Textile
        Chemical Printing Timber Electric Software Pharmaceutical Water Railway Mining Brewing Construction Aviation
        Banking Education Telecommunications Agriculture Ceramics Instruments"""
    ),
    bodies=_words(
        """Company Institute Association Trust Group University Agency Foundation Council Corporation Society Bank
        Department Laboratory Committee Museum Partnership Federation Board Center"""
    ),
    organization="{place} {field} {body}",
)

_FRENCH = Stock(
    forenames=_words(
        """Jean Marie François Hélène Michel Céline Pierre Anaïs André Chloé Étienne Françoise Jérôme Geneviève René
        Thérèse Sébastien Amélie Frédéric Zoé Grégoire Inès Loïc Gaëlle Joël Noémie Rémi Aurélie Cédric Mélanie Hervé
        Béatrice Gérard Valérie Stéphane Agnès Benoît Renée Raphaël Désirée Théo Léa Mickaël Maëlle Gaël Salomé Clément
        Solène Régis Joséphine Aurélien Héloïse Éric Edmée Thibault Élodie Côme Cécile Médéric Angèle"""
    ),
    family=_words(
        """Lefèvre Dupré Béranger Guérin Léger Hébert Crépin Fréchette Gélinas Bédard Lemaître Préjean Mérimée Cézard
        Barthélemy Desprès Châtelain Prévost Mallarmé Delàge Peñalver Lugovoï Tolstoï Nérée Séguin Rébillard Ménard
        Délépine Lévêque Chérubin Garçon François Besançon Alançon Maçon Beauséjour Grégoire Thévenot Décarie Forêt
        Benoît Côté Crête Frêne Pâris Rhône Hôtelier Dubôis Coignée Vallée Chaussée Durand Moreau Laurent Girard Bonnet
        Dupuis Fontaine Rousseau Vincent Morel Mercier Blanchard Marchand Picard Lacroix"""
    ),
    beginnings=_words("Béd Chât Dél Fér Gén Hér Lév Mén Nér Prév Rév Sér Thév Vér Bois Cour Mont Pont Roche Val"),
    middles=_words("a an ar er el en il in o ou"),
    endings=_words("ard eau elle eron et ette eux ier in ière on ot ault elain illon ançon oît ême érac ois"),
    titles=_words("M. Mme Mlle Dr Pr Maître Général Président Ministre Sénateur"),
    places=_words(
        """Française Européenne Méditerranée Rhône Orléans Bretagne Normandie Genève Québec Montréal Sénégal Algérie
        Nîmes Béziers Besançon Alençon Angoulême Évreux Périgueux Saint-Étienne"""
    ),
    fields=_words(
        """Énergie Sécurité Électricité Santé Télévision Météo Pétrole Métallurgie Café Céramique Édition Défense
        Téléphone Hôtellerie Forêt Pêche"""
    ),
    bodies=_words("Société Fédération Université Comité Ministère Académie Musée Banque Institut Agence"),
    organization="{body} {field} {place}",
)

STOCKS: dict[str, Stock] = {"english": _ENGLISH, "french": _FRENCH}
